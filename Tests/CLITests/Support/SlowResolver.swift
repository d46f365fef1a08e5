import Foundation

/// A library that a child loads first, and whose name service never answers.
enum SlowResolver {
  /// The library's path; `nil` where there is no C compiler.
  static let library = compile(
    """
    #include <netdb.h>
    #include <unistd.h>
    int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                    struct addrinfo **answer) {
      if (hints && hints->ai_flags & AI_NUMERICHOST) return EAI_NONAME;
      sleep(60);
      return EAI_AGAIN;
    }

    """)

  /// The beginning of a library that passes numeric hosts on, and has a copy of the hints.
  private static let passesNumbersOn = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <netdb.h>
    #include <unistd.h>
    int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                    struct addrinfo **answer) {
      int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
          dlsym(RTLD_NEXT, "getaddrinfo");
      struct addrinfo numeric = *hints;
      if (hints->ai_flags & AI_NUMERICHOST) return real(host, port, hints, answer);
    """

  /// One that gives 127.0.0.2 and 127.0.0.1 for every name at once, and takes a minute over IPv6.
  static let halfLibrary = compile(
    """
    \(passesNumbersOn)
      if (hints->ai_family == AF_INET6) sleep(60);
      numeric.ai_flags = AI_NUMERICHOST;
      numeric.ai_family = AF_INET;
      int code = real("127.0.0.2", port, &numeric, answer);
      return code ? code : real("127.0.0.1", port, &numeric, &(*answer)->ai_next);
    }

    """)

  /// One of a machine with its loopback alone: 127.0.0.1 for every name, unless addresses are to be reachable.
  static let loopbackLibrary = compile(
    """
    \(passesNumbersOn)
      if (hints->ai_flags & AI_ADDRCONFIG || hints->ai_family == AF_INET6) return EAI_NONAME;
      numeric.ai_flags = AI_NUMERICHOST;
      return real("127.0.0.1", port, &numeric, answer);
    }

    """)

  /// A library from its C source; `nil` where there is no C compiler.
  static func compile(_ text: String) -> String? {
    #if os(Linux)
      let source = TemporaryFolder.shared.file("resolver.c")
      let library = TemporaryFolder.shared.file("resolver.so")
      try? text.write(toFile: source, atomically: true, encoding: .utf8)
      for compiler in ["cc", "clang"] {
        let result = try? PusherCLI.tool(
          [compiler, "-shared", "-fPIC", "-o", library, source])
        if result?.ending == .exited(0) { return library }
      }
    #endif
    return nil
  }
}

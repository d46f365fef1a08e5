import Foundation

/// A preloaded library whose name service never answers.
enum SlowResolver {
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

  /// Start of a library: passes numeric hosts on, and copies the hints.
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

  /// A library that gives 127.0.0.2 and 127.0.0.1 for every name at once, and takes a minute for
  /// IPv6.
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

  /// A library of a machine with loopback only: 127.0.0.1 for every name, unless addresses must be
  /// reachable.
  static let loopbackLibrary = compile(
    """
    \(passesNumbersOn)
      if (hints->ai_flags & AI_ADDRCONFIG || hints->ai_family == AF_INET6) return EAI_NONAME;
      numeric.ai_flags = AI_NUMERICHOST;
      return real("127.0.0.1", port, &numeric, answer);
    }

    """)

  /// Compiles a library from C source; `nil` without a C compiler.
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

import Foundation

/// Preloaded libraries with another name service; each is `nil` without a C compiler.
enum SlowResolver {
  /// The name service never answers.
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

  /// 127.0.0.2 and 127.0.0.1 for every name at once, and a minute for IPv6.
  static let halfLibrary = resolver(
    """
      if (hints->ai_family == AF_INET6) sleep(60);
      numeric.ai_family = AF_INET;
      int code = real("127.0.0.2", port, &numeric, answer);
      return code ? code : real("127.0.0.1", port, &numeric, &(*answer)->ai_next);
    """)

  /// 127.0.0.1 for every name, unless addresses must be reachable: a machine with loopback only.
  static let loopbackLibrary = resolver(
    """
      if (hints->ai_flags & AI_ADDRCONFIG || hints->ai_family == AF_INET6) return EAI_NONAME;
      return real("127.0.0.1", port, &numeric, answer);
    """)

  /// Compiles a `getaddrinfo` for names; numeric hosts go to the system's.
  fileprivate static func resolver(_ body: String) -> String? {
    compile(
      """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <netdb.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      #include <unistd.h>
      int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                      struct addrinfo **answer) {
        int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
            dlsym(RTLD_NEXT, "getaddrinfo");
        if (!hints || hints->ai_flags & AI_NUMERICHOST) return real(host, port, hints, answer);
        struct addrinfo numeric = *hints;
        numeric.ai_flags = AI_NUMERICHOST;
      \(body)
      }

      """)
  }

  static func compile(_ text: String) -> String? {
    #if os(Linux)
      let library = TemporaryFolder.shared.file("preloaded.so")
      guard let source = try? TemporaryFolder.shared.file("preloaded.c", holding: text) else {
        return nil
      }
      for compiler in ["cc", "clang"] {
        let result = try? PusherCLI.tool([
          compiler, "-shared", "-fPIC", "-o", library, source, "-ldl",
        ])
        if result?.ending == .exited(0) { return library }
      }
    #endif
    return nil
  }
}

/// Every name under `.test` resolves to this machine.
enum LocalNames {
  static let library = SlowResolver.resolver(
    """
      size_t length = host ? strlen(host) : 0;
      int is_test = length > 5 && strcmp(host + length - 5, ".test") == 0;
      return real(is_test ? "127.0.0.1" : host, port, hints, answer);
    """)
}

/// A name service whose answer changes: every name resolves to the address in a file.
final class ChangingNames {
  static let library = SlowResolver.resolver(
    """
      char address[64] = "";
      FILE *file = fopen(getenv("TEST_NAMES"), "r");
      if (!file || fscanf(file, "%63s", address) != 1) return EAI_AGAIN;
      fclose(file);
      return real(address, port, &numeric, answer);
    """)

  private let path = TemporaryFolder.shared.file("names")

  init(_ address: String) throws { try lead(to: address) }

  func lead(to address: String) throws {
    try address.write(toFile: path, atomically: true, encoding: .utf8)
  }

  var environment: [String: String] { ["LD_PRELOAD": Self.library ?? "", "TEST_NAMES": path] }
}

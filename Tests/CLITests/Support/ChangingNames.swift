import Foundation

/// A name service whose answer changes: every name resolves to the address in a file.
final class ChangingNames {
  /// The preloaded library; `nil` without a C compiler.
  static let library = SlowResolver.compile(
    """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <netdb.h>
    #include <stdio.h>
    #include <stdlib.h>
    int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                    struct addrinfo **answer) {
      int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
          dlsym(RTLD_NEXT, "getaddrinfo");
      if (hints->ai_flags & AI_NUMERICHOST) return real(host, port, hints, answer);
      char address[64] = "";
      FILE *file = fopen(getenv("TEST_NAMES"), "r");
      if (!file || fscanf(file, "%63s", address) != 1) return EAI_AGAIN;
      fclose(file);
      struct addrinfo numeric = *hints;
      numeric.ai_flags = AI_NUMERICHOST;
      return real(address, port, &numeric, answer);
    }

    """)

  private let path = TemporaryFolder.shared.file("names")

  init(_ address: String) throws {
    try lead(to: address)
  }

  func lead(to address: String) throws {
    try address.write(toFile: path, atomically: true, encoding: .utf8)
  }

  var environment: [String: String] {
    ["LD_PRELOAD": Self.library ?? "", "TEST_NAMES": path]
  }
}

import Foundation

/// A library that a child loads first, and whose name service never answers.
enum SlowResolver {
  /// The library's path; `nil` where there is no C compiler.
  static let library: String? = {
    #if os(Linux)
      let source = TemporaryFolder.shared.file("resolver.c")
      let library = TemporaryFolder.shared.file("resolver.so")
      let text = """
        #include <netdb.h>
        #include <unistd.h>
        int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                        struct addrinfo **answer) {
          if (hints && hints->ai_flags & AI_NUMERICHOST) return EAI_NONAME;
          sleep(60);
          return EAI_AGAIN;
        }

        """
      try? text.write(toFile: source, atomically: true, encoding: .utf8)
      for compiler in ["cc", "clang"] {
        let result = try? PusherCLI.tool(
          [compiler, "-shared", "-fPIC", "-o", library, source])
        if result?.ending == .exited(0) { return library }
      }
    #endif
    return nil
  }()
}

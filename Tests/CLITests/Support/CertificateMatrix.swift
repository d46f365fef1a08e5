import Foundation
import PusherCore

/// The certificates of Tests/certificates.sh, made once for a test run.
struct CertificateMatrix: Sendable {
  /// `nil` if the script fails because openssl is missing.
  static let shared = try? CertificateMatrix()

  private let folder: String

  private init() throws {
    folder = TemporaryFolder.shared.file("certificate-matrix")
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let script = root.appending(path: "Tests/certificates.sh").path
    let result = try PusherCLI.tool(["sh", script, folder])
    guard result.ending == .exited(0) else { throw Unexpected("\(script): \(result.errorText)") }
  }

  var authority: String { file("root.pem") }

  var trusted: ServerCertificate { server("valid") }

  func file(_ name: String) -> String { "\(folder)/\(name)" }

  func server(_ name: String, _ behaviour: TLSBehaviour? = nil) -> ServerCertificate {
    ServerCertificate(
      certificate: file(name + ".pem"), key: file(name + ".key"), behaviour: behaviour)
  }

  /// Returns the pin of a certificate's key, made with the openssl program as in curl's manual.
  func pin(_ name: String) throws -> String {
    let command =
      "openssl x509 -in '\(file(name + ".pem"))' -pubkey -noout | openssl pkey -pubin -outform der "
      + "| openssl dgst -sha256 -binary | openssl enc -base64"
    return try PusherCLI.tool(["sh", "-c", command]).outputText.trimmingCharacters(
      in: .whitespacesAndNewlines)
  }
}

/// A preloaded library that resolves every name under `.test` to this machine.
enum LocalNames {
  /// Path of the library; `nil` without a C compiler.
  static let library: String? = {
    #if os(Linux)
      let source = TemporaryFolder.shared.file("names.c")
      let library = TemporaryFolder.shared.file("names.so")
      let text = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <netdb.h>
        #include <string.h>
        typedef int (*look_up)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
        int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                        struct addrinfo **answer) {
          look_up real = (look_up)dlsym(RTLD_NEXT, "getaddrinfo");
          size_t length = host ? strlen(host) : 0;
          int is_test = length > 5 && strcmp(host + length - 5, ".test") == 0;
          int is_literal = hints && hints->ai_flags & AI_NUMERICHOST;
          return real(is_test && !is_literal ? "127.0.0.1" : host, port, hints, answer);
        }

        """
      try? text.write(toFile: source, atomically: true, encoding: .utf8)
      for compiler in ["cc", "clang"] {
        let result = try? PusherCLI.tool([
          compiler, "-shared", "-fPIC", "-o", library, source, "-ldl",
        ])
        if result?.ending == .exited(0) { return library }
      }
    #endif
    return nil
  }()
}

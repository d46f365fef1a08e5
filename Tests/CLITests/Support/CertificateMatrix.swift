import Foundation
import PusherCore

/// The certificates of Tests/certificates.sh, made once for a test run.
struct CertificateMatrix: Sendable {
  /// `nil` if the script fails because openssl is missing.
  static let shared = try? CertificateMatrix()

  private let folder: String

  private init() throws {
    folder = TemporaryFolder.shared.file("certificate-matrix")
    let script = Documentation.folder + "/Tests/certificates.sh"
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

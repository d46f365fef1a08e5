import Foundation
import PusherCore
import TestSupport

/// Certificates that the `openssl` program makes once for a test run, in a folder that is removed
/// afterwards.
struct TestCertificates: Sendable {
  static let shared = TestCertificates()

  let folder: String

  var authority: String { folder + "/ca.pem" }
  /// An authority that signed none of these certificates.
  var otherAuthority: String { folder + "/other.pem" }

  func certificate(_ name: String) -> String { "\(folder)/\(name).pem" }
  func key(_ name: String) -> String { "\(folder)/\(name).key" }

  func server(_ name: String = "localhost") throws(TLSError) -> TLSContext {
    try .server(certificateFile: certificate(name), keyFile: key(name))
  }

  private init() {
    folder = NSTemporaryDirectory() + "pusher-tls-" + UUID().uuidString
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    atexit { try? FileManager.default.removeItem(atPath: TestCertificates.shared.folder) }
    selfSigned("ca", subject: "/CN=Test Authority", names: nil)
    selfSigned("other", subject: "/CN=Other Authority", names: nil)
    selfSigned("self", subject: "/CN=self", names: "DNS:localhost")
    signed("localhost", names: "DNS:localhost,DNS:*.example.test,IP:127.0.0.1,IP:::1", days: 2)
    signed("partial", names: "DNS:w*.example.test", days: 2)
    signed("expired", names: "DNS:localhost", days: -1)
    openssl([
      "ec", "-in", key("localhost"), "-aes128", "-passout", "pass:secret", "-out", key("encrypted"),
    ])
  }

  private func selfSigned(_ name: String, subject: String, names: String?) {
    openssl(
      newKey(name, subject) + ["-x509", "-days", "2", "-out", certificate(name)]
        + (names.map { ["-addext", "subjectAltName=\($0)"] } ?? []))
  }

  private func signed(_ name: String, names: String, days: Int) {
    let request = "\(folder)/\(name).csr"
    let extensions = "\(folder)/\(name).ext"
    try? "subjectAltName=\(names)\n".write(toFile: extensions, atomically: true, encoding: .utf8)
    openssl(newKey(name, "/CN=\(name)") + ["-out", request])
    openssl([
      "x509", "-req", "-in", request, "-CA", authority, "-CAkey", key("ca"), "-CAcreateserial",
      "-days", "\(days)", "-extfile", extensions, "-out", certificate(name),
    ])
  }

  private func newKey(_ name: String, _ subject: String) -> [String] {
    [
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
      subject, "-keyout", key(name),
    ]
  }

  private func openssl(_ arguments: [String]) {
    _ = try? Spawn.text(of: ["openssl"] + arguments)
  }
}

import Foundation

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

  private init() {
    folder = NSTemporaryDirectory() + "pusher-tls-" + UUID().uuidString
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    atexit {
      try? FileManager.default.removeItem(atPath: TestCertificates.shared.folder)
    }
    selfSigned("ca", subject: "/CN=Test Authority", names: nil)
    selfSigned("other", subject: "/CN=Other Authority", names: nil)
    selfSigned("self", subject: "/CN=self", names: "DNS:localhost")
    signed("localhost", names: "DNS:localhost,DNS:*.example.test,IP:127.0.0.1,IP:::1", days: 2)
    signed("partial", names: "DNS:w*.example.test", days: 2)
    signed("expired", names: "DNS:localhost", days: -1)
    Self.openssl(
      "ec", "-in", key("localhost"), "-aes128", "-passout", "pass:secret", "-out",
      key("encrypted"))
  }

  private func selfSigned(_ name: String, subject: String, names: String?) {
    var arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-days", "2", "-subj", subject, "-keyout", key(name), "-out", certificate(name),
    ]
    if let names { arguments += ["-addext", "subjectAltName=\(names)"] }
    Self.openssl(arguments)
  }

  private func signed(_ name: String, names: String, days: Int) {
    let request = "\(folder)/\(name).csr"
    let extensions = "\(folder)/\(name).ext"
    try? "subjectAltName=\(names)\n".write(toFile: extensions, atomically: true, encoding: .utf8)
    Self.openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
      "/CN=\(name)", "-keyout", key(name), "-out", request)
    Self.openssl(
      "x509", "-req", "-in", request, "-CA", authority, "-CAkey", key("ca"), "-CAcreateserial",
      "-days", "\(days)", "-extfile", extensions, "-out", certificate(name))
  }

  private static func openssl(_ arguments: String...) {
    openssl(arguments)
  }

  private static func openssl(_ arguments: [String]) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try? process.run()
    process.waitUntilExit()
  }
}

import Foundation
import PusherCore

/// Certificates made once for a test run by the `openssl` program.
struct TestCertificates: Sendable {
  /// `nil` where `openssl` could not make them.
  static let shared = try? TestCertificates()

  /// For localhost and 127.0.0.1, signed by ``authority``.
  let trusted: ServerCertificate
  /// For another host, signed by ``authority``.
  let otherHost: ServerCertificate
  /// The file with the authority's certificate.
  let authority: String

  private init() throws {
    let folder = TemporaryFolder.shared.file("certificates")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    authority = folder + "/ca.pem"
    try Self.openssl(
      ["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=Test Authority"] + Self.newKey
        + ["-keyout", folder + "/ca.key", "-out", authority])
    trusted = try Self.signed("localhost", names: "DNS:localhost,IP:127.0.0.1", in: folder)
    otherHost = try Self.signed("elsewhere", names: "DNS:elsewhere.test", in: folder)
  }

  private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]

  private static func signed(_ name: String, names: String, in folder: String) throws
    -> ServerCertificate
  {
    let stem = "\(folder)/\(name)"
    try "subjectAltName=\(names)\n".write(
      toFile: stem + ".ext", atomically: true, encoding: .utf8)
    try openssl(
      ["req", "-nodes", "-subj", "/CN=\(name)"] + newKey
        + ["-keyout", stem + ".key", "-out", stem + ".csr"])
    try openssl(
      [
        "x509", "-req", "-in", stem + ".csr", "-CA", folder + "/ca.pem", "-CAkey",
        folder + "/ca.key", "-CAcreateserial", "-days", "2", "-extfile", stem + ".ext", "-out",
        stem + ".pem",
      ])
    return ServerCertificate(certificate: stem + ".pem", key: stem + ".key")
  }

  private static func openssl(_ arguments: [String]) throws {
    let result = try PusherCLI.tool(["openssl"] + arguments)
    guard result.ending == .exited(0) else { throw Unexpected("openssl: \(result.errorText)") }
  }
}

import Foundation
import PusherCore
import Testing

/// Checks of the server's identity: RFC 5280 section 6, RFC 9525 section 6.
struct TLSVerificationTests {
  private static let files = TestCertificates.shared
  private static let trusting = TLSConfiguration(caFile: files.authority)

  private func failure(
    _ configuration: TLSConfiguration = trusting, name: String = "localhost",
    certificate: String = "localhost"
  ) -> TLSError? {
    do throws(TLSError) {
      try TLSPair(configuration, name: name, certificate: certificate).continueHandshake()
      return nil
    } catch { return error }
  }

  private static let insecure = TLSConfiguration(insecure: true)

  @Test(arguments: [
    (trusting, "localhost", "localhost"), (trusting, "LOCALHOST", "localhost"),
    (trusting, "localhost.", "localhost"), (trusting, "a.example.test", "localhost"),
    (trusting, "127.0.0.1", "localhost"), (trusting, "::1", "localhost"),
    // A self-signed certificate that is the trusted one.
    (TLSConfiguration(caFile: files.certificate("self")), "localhost", "self"),
    // An insecure client accepts every certificate for every name.
    (insecure, "elsewhere.test", "expired"), (insecure, "elsewhere.test", "self"),
    (insecure, "elsewhere.test", "localhost"),
  ])
  func `a trusted certificate for the name or the address is accepted`(
    configuration: TLSConfiguration, name: String, certificate: String
  ) {
    #expect(failure(configuration, name: name, certificate: certificate) == nil)
  }

  @Test(arguments: [
    ("example.test", "hostname"), ("a.b.example.test", "hostname"), ("localhost.test", "hostname"),
    ("127.0.0.2", "IP address"), ("::2", "IP address"),
  ])
  func `a name or an address the certificate is not for is refused`(name: String, kind: String) {
    #expect(
      failure(name: name)
        == .certificate(
          reason: "\(kind) mismatch, it is not for \(name)", subject: "CN=localhost"))
  }

  @Test func `a wildcard for a part of a label, and an authority unknown here, are refused`() {
    #expect(failure(name: "www.example.test", certificate: "partial") != nil)
    #expect(failure(TLSConfiguration()) != nil)
  }

  @Test func `an expired certificate is refused`() {
    let failure = failure(certificate: "expired")
    guard case .certificate(let reason, subject: "CN=expired")? = failure else {
      return unexpected(failure)
    }
    #expect(reason.hasPrefix("it expired on ") && reason.hasSuffix(" GMT"), "\(reason)")
  }

  @Test(arguments: [
    (files.otherAuthority, "localhost", "issuer 'CN=Test Authority' is unknown here"),
    (files.authority, "self", "it is self-signed and not trusted"),
  ])
  func `unknown authorities are refused`(trusted: String, certificate: String, reason: String) {
    #expect(
      failure(TLSConfiguration(caFile: trusted), certificate: certificate)
        == .unknownAuthority(reason: reason, subject: "CN=\(certificate)"))
  }

  @Test(arguments: [nil, ""]) func `a client without a name is refused`(name: String?) throws {
    let context = try TLSContext.client(Self.trusting)
    #expect(throws: TLSError.self) { try TLSEngine(context: context, serverName: name) }
  }

  @Test func `the server learns of a refusal by an alert`() throws {
    let pair = try TLSPair(Self.trusting, name: "elsewhere.test")
    #expect(throws: TLSError.self) { try pair.continueHandshake() }
    pair.carry(from: pair.client, to: pair.server)
    #expect(throws: TLSError.self) { try pair.server.handshake() }
  }
}

/// Files for trust and for the client's own certificate.
struct TLSContextTests {
  private static let files = TestCertificates.shared

  @Test func `the environment's file is trusted in place of the system's store`() throws {
    let environment = TLSEnvironment(certificateFile: Self.files.authority)
    try TLSPair(TLSConfiguration(), environment: environment).continueHandshake()
  }

  private static let noBlock = "it has no PEM block of the required kind"

  @Test(arguments: [
    (files.key("localhost"), files.key("localhost"), files.key("localhost"), noBlock),
    (
      files.certificate("localhost"), files.key("self"), files.key("self"),
      "the key does not belong to the certificate"
    ),
    (
      files.certificate("localhost"), files.key("encrypted"), files.key("encrypted"),
      "the key is protected by a passphrase"
    ),
  ])
  func `a file of another kind, for another key or locked is named`(
    certificate: String, key: String, wrong: String, reason: String
  ) {
    #expect(throws: TLSError.file(path: wrong, reason: reason)) {
      try TLSContext.server(certificateFile: certificate, keyFile: key)
    }
  }

  @Test func `kept texts take the place of files that cannot be read again`() throws {
    func text(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }
    let kept = try [
      "/dev/fd/60": text(Self.files.certificate("localhost")),
      "/dev/fd/61": text(Self.files.key("localhost")),
      "/dev/fd/62": text(Self.files.authority),
      "/dev/fd/63": text(Self.files.certificate("localhost")),
    ]
    var trusting = TLSConfiguration(caFile: "/dev/fd/62")
    trusting.kept = kept
    for _ in 0..<2 { try TLSPair(trusting).continueHandshake() }
    _ = try TLSContext.server(certificateFile: "/dev/fd/60", keyFile: "/dev/fd/61", kept: kept)
    #expect(throws: TLSError.file(path: "/dev/fd/63", reason: Self.noBlock)) {
      try TLSContext.server(certificateFile: "/dev/fd/60", keyFile: "/dev/fd/63", kept: kept)
    }
    trusting.kept["/dev/fd/62"] = Array("no PEM".utf8)
    #expect(throws: TLSError.file(path: "/dev/fd/62", reason: Self.noBlock)) {
      try TLSContext.client(trusting)
    }
  }
}

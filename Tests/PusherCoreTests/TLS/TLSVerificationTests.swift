import Foundation
import PusherCore
import Testing

/// Checks of the server's identity: RFC 5280 section 6, RFC 9525 section 6.
@Suite struct TLSVerificationTests {
  private let files = TestCertificates.shared
  private var trusting: TLSConfiguration { TLSConfiguration(caFile: files.authority) }

  private func failure(_ configuration: TLSConfiguration, name: String, certificate: String)
    -> TLSError?
  {
    do throws(TLSError) {
      try TLSPair(configuration, name: name, certificate: certificate).continueHandshake()
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: ["localhost", "LOCALHOST", "localhost.", "a.example.test", "127.0.0.1", "::1"])
  func `a name or address the certificate is for is accepted`(name: String) {
    #expect(failure(trusting, name: name, certificate: "localhost") == nil)
  }

  @Test(arguments: ["example.test", "a.b.example.test", "localhost.test"])
  func `a name the certificate is not for is refused`(name: String) {
    #expect(
      failure(trusting, name: name, certificate: "localhost")
        == .certificate(
          reason: "hostname mismatch, it is not for \(name)", subject: "CN=localhost"))
  }

  @Test(arguments: ["127.0.0.2", "::2"])
  func `an address the certificate is not for is refused`(address: String) {
    #expect(
      failure(trusting, name: address, certificate: "localhost")
        == .certificate(
          reason: "IP address mismatch, it is not for \(address)", subject: "CN=localhost"))
  }

  @Test func `a wildcard for a part of a label is refused`() {
    #expect(failure(trusting, name: "www.example.test", certificate: "partial") != nil)
  }

  @Test func `an expired certificate is refused`() {
    guard
      case .certificate(let reason, subject: "CN=expired")? = failure(
        trusting, name: "localhost", certificate: "expired")
    else {
      Issue.record("not refused as a certificate")
      return
    }
    #expect(reason.hasPrefix("it expired on ") && reason.hasSuffix(" GMT"), "\(reason)")
  }

  @Test func `an unknown authority is refused`() {
    let other = TLSConfiguration(caFile: files.otherAuthority)
    #expect(
      failure(other, name: "localhost", certificate: "localhost")
        == .unknownAuthority(
          reason: "issuer 'CN=Test Authority' is unknown here", subject: "CN=localhost"))
  }

  @Test func `the system's authorities do not know the test's`() {
    #expect(failure(TLSConfiguration(), name: "localhost", certificate: "localhost") != nil)
  }

  @Test func `a self-signed certificate is refused, and says so`() {
    #expect(
      failure(trusting, name: "localhost", certificate: "self")
        == .unknownAuthority(
          reason: "it is self-signed and not trusted", subject: "CN=self"))
  }

  @Test func `a self-signed certificate is accepted when it is the trusted one`() {
    let own = TLSConfiguration(caFile: files.certificate("self"))
    #expect(failure(own, name: "localhost", certificate: "self") == nil)
  }

  @Test(arguments: ["expired", "self", "localhost"])
  func `an insecure client accepts every certificate for every name`(certificate: String) {
    let insecure = TLSConfiguration(insecure: true)
    #expect(failure(insecure, name: "elsewhere.test", certificate: certificate) == nil)
  }

  @Test func `a client without a name is refused`() throws {
    let context = try TLSContext.client(trusting)
    #expect(throws: TLSError.self) { try TLSEngine(context: context, serverName: nil) }
    #expect(throws: TLSError.self) { try TLSEngine(context: context, serverName: "") }
  }

  @Test func `the server learns of a refusal by an alert`() throws {
    let pair = try TLSPair(trusting, name: "elsewhere.test")
    #expect(throws: TLSError.self) { try pair.continueHandshake() }
    pair.carry(from: pair.client, to: pair.server)
    #expect(throws: TLSError.self) { try pair.server.handshake() }
  }
}

/// Files for trust and for the client's own certificate.
@Suite struct TLSContextTests {
  private let files = TestCertificates.shared

  @Test func `the environment's file is trusted in place of the system's store`() throws {
    let environment = TLSEnvironment(certificateFile: files.authority)
    try TLSPair(TLSConfiguration(), environment: environment).continueHandshake()
  }

  @Test func `a missing file is named with its reason`() {
    #expect(
      throws: TLSError.file(path: "/nowhere/ca.pem", reason: "No such file or directory")
    ) {
      try TLSContext.client(TLSConfiguration(caFile: "/nowhere/ca.pem"))
    }
    #expect(
      throws: TLSError.file(path: "/nowhere/cert.pem", reason: "No such file or directory")
    ) {
      try TLSContext.server(
        certificateFile: "/nowhere/cert.pem", keyFile: files.key("localhost"))
    }
  }

  @Test func `a file of another kind is named with its reason`() {
    #expect(
      throws: TLSError.file(
        path: files.key("localhost"), reason: "it has no PEM block of the required kind")
    ) {
      try TLSContext.server(
        certificateFile: files.key("localhost"), keyFile: files.key("localhost"))
    }
  }

  @Test func `a key of another certificate is refused`() {
    #expect(
      throws: TLSError.file(
        path: files.key("self"), reason: "the key does not belong to the certificate")
    ) {
      try TLSContext.server(
        certificateFile: files.certificate("localhost"), keyFile: files.key("self"))
    }
  }

  @Test func `a key behind a passphrase is refused without asking for it`() {
    #expect(
      throws: TLSError.file(
        path: files.key("encrypted"), reason: "the key is protected by a passphrase")
    ) {
      try TLSContext.server(
        certificateFile: files.certificate("localhost"), keyFile: files.key("encrypted"))
    }
  }

  @Test func `kept texts take the place of files that cannot be read again`() throws {
    func text(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }
    let kept = try [
      "/dev/fd/60": text(files.certificate("localhost")),
      "/dev/fd/61": text(files.key("localhost")),
      "/dev/fd/62": text(files.authority), "/dev/fd/63": text(files.certificate("localhost")),
    ]
    var trusting = TLSConfiguration(caFile: "/dev/fd/62")
    trusting.kept = kept
    for _ in 0..<2 { try TLSPair(trusting).continueHandshake() }
    _ = try TLSContext.server(certificateFile: "/dev/fd/60", keyFile: "/dev/fd/61", kept: kept)
    #expect(
      throws: TLSError.file(path: "/dev/fd/63", reason: "it has no PEM block of the required kind")
    ) {
      try TLSContext.server(certificateFile: "/dev/fd/60", keyFile: "/dev/fd/63", kept: kept)
    }
    trusting.kept["/dev/fd/62"] = Array("no PEM".utf8)
    #expect(
      throws: TLSError.file(path: "/dev/fd/62", reason: "it has no PEM block of the required kind")
    ) { try TLSContext.client(trusting) }
  }
}

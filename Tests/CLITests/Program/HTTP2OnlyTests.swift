import Foundation
import PusherCore
import Testing

/// Servers that speak no HTTP/1.1, as gRPC servers do.
@Suite("sse: a server that speaks HTTP/2 only", .runsPrograms)
struct HTTP2OnlyTests {
  private func secure(_ behaviour: TLSBehaviour?) throws -> ScriptedServer {
    let matrix = try #require(CertificateMatrix.shared)
    return try ScriptedServer(certificate: matrix.server("valid", behaviour)) { connection in
      _ = try connection.request()
      connection.drop()
    }
  }

  private func sse(_ server: ScriptedServer) throws -> ProgramResult {
    let matrix = try #require(CertificateMatrix.shared)
    return try PusherCLI.sse(server, "--cacert", matrix.authority).result()
  }

  @Test(.needs(.certificates))
  func `a server that closes after the handshake is known by a second look`() throws {
    let server = try secure(TLSBehaviour(withoutHTTP2: .silence))
    let result = try sse(server)
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText
        == "pusher-cli: error: localhost:\(server.port) speaks HTTP/2 only; "
        + "this program needs HTTP/1.1\n")
    #expect(server.connectionCount == 2)
  }

  @Test(.needs(.certificates))
  func `a server that refuses the handshake is known by its alert`() throws {
    let server = try secure(TLSBehaviour(withoutHTTP2: .alert))
    let result = try sse(server)
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText
        == "pusher-cli: error: TLS handshake failed: the other side does not speak HTTP/1.1 on "
        + "this port, maybe HTTP/2 only (tlsv1 alert no application protocol)\n")
    #expect(server.connectionCount == 1)
  }

  @Test(.needs(.certificates))
  func `a server without ALPN that closes is not taken for one`() throws {
    let server = try secure(nil)
    let result = try sse(server)
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText
        == "pusher-cli: error: TLS connection cut off without a closing alert (close_notify)\n")
  }

  @Test(arguments: [[0, 0, 18, 4, 0, 0, 0, 0, 0], [0, 0, 8, 7, 0, 0, 0, 0, 0]] as [[UInt8]])
  func `over plain text a server is known by its first frame`(frame: [UInt8]) throws {
    let server = try ScriptedServer { connection in
      _ = try connection.request()
      try connection.send(bytes: frame)
      try connection.remain()
    }
    let result = try PusherCLI.sse(server).result()
    #expect(result.ending == .exited(5))
    #expect(
      result.errorText
        == "pusher-cli: error: the server broke the protocol: the other side speaks HTTP/2 only\n")
  }
}

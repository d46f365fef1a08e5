import Foundation
import PusherCore
import Testing

/// A server on a free port of 127.0.0.1 whose connections follow a script, each in its own thread.
///
/// A script that throws ends its connection. The error fails the test unless the other side had
/// left. All connections end with the server.
final class ScriptedServer: Sendable {
  typealias Script = @Sendable (ScriptedConnection) throws -> Void

  let port: UInt16
  let isSecure: Bool
  private let connections = Record<Int>()
  private let stopPipe: StopPipe

  /// - Parameters:
  ///   - certificate: Serves TLS with this certificate.
  ///   - receiveBuffer: Size of the system's receive buffer, in bytes; the system's default unless
  ///     given.
  ///   - place: Source location of the test, for later failures.
  ///   - script: Plays each connection.
  init(
    certificate: ServerCertificate? = nil, receiveBuffer: Int32? = nil,
    place: SourceLocation = #_sourceLocation, _ script: @escaping Script
  ) throws {
    let listener = try Loopback.listen(receiveBuffer: receiveBuffer)
    port = listener.port
    isSecure = certificate != nil
    stopPipe = try StopPipe()
    let connections = connections
    let stop = stopPipe.reader
    Thread.detachNewThread {
      while let accepted = Loopback.accept(listener.descriptor, until: stop) {
        connections.add(1)
        let number = connections.values.count
        Thread.detachNewThread {
          Self.run(script, on: accepted, number: number, stop: stop, certificate, place)
        }
      }
      close(listener.descriptor)
    }
  }

  deinit { stopPipe.end() }

  var connectionCount: Int { connections.values.count }

  var address: [String] {
    [
      "--host", isSecure ? "localhost" : "127.0.0.1", "--port", "\(port)",
      "--scheme", isSecure ? "https" : "http", "--key", "test-key",
    ]
  }

  private static func run(
    _ script: Script, on descriptor: Int32, number: Int, stop: StopPipe.Reader,
    _ certificate: ServerCertificate?, _ place: SourceLocation
  ) {
    do {
      let connection = try ScriptedConnection(
        descriptor, number: number, stop: stop, certificate: certificate)
      try script(connection)
      connection.end()
    } catch is PeerLeft {
    } catch is TLSError where certificate != nil {
      // A client that does not trust the certificate ends the handshake.
    } catch {
      Issue.record("the script of connection \(number) failed: \(error)", sourceLocation: place)
    }
  }
}

struct ServerCertificate: Sendable {
  var certificate: String
  var key: String
  var behaviour: TLSBehaviour?
}

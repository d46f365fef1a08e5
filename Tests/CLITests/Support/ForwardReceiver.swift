import Foundation
import PusherCore
import Testing

/// A receiver for `--forward` on Python's http.server, controlled through `receive_forwards.py`.
struct ForwardReceiver {
  struct Request: Decodable {
    /// From 1, in the order of the connections.
    let connection: Int
    let method: String
    let path: String
    /// Fields by lower-case name.
    let fields: [String: String]
    let body: String

    var key: String { fields["idempotency-key"] ?? "" }
  }

  let program: ChildProgram
  let port: UInt16

  init(_ behaviours: String...) throws {
    program = try PythonPeer.start("receive_forwards.py", behaviours, input: .pipe)
    port = try #require(UInt16(try program.line()))
  }

  var url: String { "http://127.0.0.1:\(port)/hook?x=1" }

  func next() throws -> Request {
    try JSONDecoder().decode(Request.self, from: Data(try program.lineBytes()))
  }

  func requests(_ count: Int) throws -> [Request] {
    try (0..<count).map { _ in try next() }
  }

  func release() {
    program.write([UInt8(ascii: "\n")])
  }

  func unexpected() throws -> String {
    program.closeInput()
    return try program.result().outputText
  }
}

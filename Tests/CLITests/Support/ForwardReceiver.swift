import Foundation
import PusherCore
import Testing

/// A receiver for `--forward` on Python's http.server, which behaves as `receive_forwards.py` is told.
struct ForwardReceiver {
  /// A request that has come.
  struct Request: Decodable {
    /// From 1, in the order in which connections were made.
    let connection: Int
    let method: String
    let path: String
    /// By names in lower case.
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

  /// The next request.
  func next() throws -> Request {
    try JSONDecoder().decode(Request.self, from: Data(try program.lineBytes()))
  }

  func requests(_ count: Int) throws -> [Request] {
    try (0..<count).map { _ in try next() }
  }

  /// Lets one waiting request go on.
  func release() {
    program.write([UInt8(ascii: "\n")])
  }

  /// What stays on standard output once the receiver has ended: requests that nobody asked for.
  func unexpected() throws -> String {
    program.closeInput()
    return try program.result().outputText
  }
}

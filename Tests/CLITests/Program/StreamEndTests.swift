import Foundation
import PusherCore
import Testing

/// An end of the stream under `--reconnect never`.
struct StreamEnd: CustomTestStringConvertible, Sendable {
  let testDescription: String
  var options = ["--reconnect", "never"]
  /// Header fields of the answer, and the bytes that follow before the server closes.
  let fields: [(String, String)]
  let body: String
  let status: Int32
  /// The only line on standard error; `nil` for none.
  var message: String?
  var printed = StreamEnd.event

  static let event = #"{"event":"message","data":1}"# + "\n"
  private static let chunked = [("Transfer-Encoding", "chunked")]
  private static let unmarked =
    "the server closed the connection without marking the stream's end "
    + "(if an event marks the end, name it with --until or --until-event)"
  private static let inside = "the stream ended in the middle of an event, which is not printed"

  static let all = [
    StreamEnd(
      testDescription: "the last chunk", fields: chunked, body: "9\r\ndata: 1\n\n\r\n0\r\n\r\n",
      status: 0),
    StreamEnd(
      testDescription: "the last byte of a counted body", fields: [("Content-Length", "9")],
      body: "data: 1\n\n", status: 0),
    StreamEnd(
      testDescription: "a comment at the very end", fields: [("Content-Length", "13")],
      body: "data: 1\n\n:bye", status: 0),
    StreamEnd(
      testDescription: "a close that nothing announces", fields: [], body: "data: 1\n\n", status: 4,
      message: unmarked),
    StreamEnd(
      testDescription: "a close that nothing announces, after a POST", options: ["-d", "{}"],
      fields: [], body: "data: 1\n\n", status: 4, message: unmarked),
    StreamEnd(
      testDescription: "a close between two chunks", fields: chunked, body: "9\r\ndata: 1\n\n\r\n",
      status: 4, message: "the connection ended in the middle of the stream"),
    StreamEnd(
      testDescription: "a close inside an event", fields: [], body: "data: 1\n\ndata: 2\n",
      status: 4, message: inside),
    StreamEnd(
      testDescription: "a close inside a line", fields: [], body: "data: 1\n\nda", status: 4,
      message: inside),
    StreamEnd(
      testDescription: "a last chunk inside an event", fields: chunked,
      body: "11\r\ndata: 1\n\ndata: 2\n\r\n0\r\n\r\n", status: 4, message: inside),
  ]
}

@Suite("sse, a clean end and a broken one", .runsPrograms)
struct StreamEndTests {
  @Test(arguments: StreamEnd.all)
  func `without reconnecting the end of the stream decides the status`(_ end: StreamEnd) throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream(end.fields)
      try connection.send(stream: end.body)
    }
    let result = try PusherCLI.run(["sse", server.url] + end.options)
    #expect(result.ending == .exited(end.status), "\(result.errorText)")
    #expect(result.outputText == end.printed)
    #expect(
      result.errorText == (end.message.map { "pusher-cli: error: \($0)\n" } ?? ""),
      "\(result.errorText)")
  }

  @Test(.needs(.certificates), arguments: [true, false])
  func `with TLS the closing alert marks the end`(isMarked: Bool) throws {
    let certificates = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: certificates.trusted) { connection in
      try connection.beginStream()
      try connection.send(stream: "data: 1\n\n")
      if !isMarked { connection.drop() }
    }
    let result = try PusherCLI.sse(
      server, "--reconnect", "never", "--cacert", certificates.authority
    ).result()
    #expect(result.ending == .exited(isMarked ? 0 : 4), "\(result.errorText)")
    #expect(result.outputText == StreamEnd.event)
    #expect(result.errorText.isEmpty == isMarked, "\(result.errorText)")
  }
}

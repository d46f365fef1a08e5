import Foundation
import PusherCore
import Testing

/// Pusher's page "Webhooks".
@Suite("Webhooks that arrive: webhook listen", .runsPrograms) struct WebhookTests {
  private static let key = "278d425bdf160c739803"
  private static let secret = "7ad3773142a6692b25b8"
  private static let body =
    #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
  private static let signature = "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf"

  private func listen(
    _ options: String..., environment: [String: String] = [:], output: ChildProgram.Output = .pipe
  ) throws -> (program: ChildProgram, port: UInt16) {
    let (program, port) = try PusherCLI.listening(
      ["webhook", "listen"] + options,
      environment: ["PUSHER_APP_KEY": Self.key, "PUSHER_APP_SECRET": Self.secret]
        .merging(environment) { $1 }, output: output)
    // Its port may look like a status.
    try program.errorLine(containing: "listening for webhooks on http://127.0.0.1:")
    return (program, port)
  }

  /// Sends a body, signed as it should be unless a signature is given; an empty one is left out.
  private func send(
    _ body: String, to port: UInt16, method: String = "POST", key: String = key,
    signature: String? = nil
  ) throws -> RawClient {
    let client = try RawClient(port)
    let signature = signature ?? WebhookSignature.sign(Array(body.utf8), secret: Self.secret)
    let field = signature.isEmpty ? "" : "X-Pusher-Signature: \(signature)\r\n"
    try client.send(
      "\(method) /hook HTTP/1.1\r\nHost: h\r\nX-Pusher-Key: \(key)\r\n\(field)"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    return client
  }

  /// Sends a body and returns the status of the answer.
  private func post(
    _ body: String, to port: UInt16, method: String = "POST", key: String = key,
    signature: String? = nil
  ) throws -> Substring {
    let client = try send(body, to: port, method: method, key: key, signature: signature)
    try client.await("\r\n")
    return client.text.dropFirst("HTTP/1.1 ".count).prefix(3)
  }

  @Test func `the documented webhook is one line`() throws {
    let (program, port) = try listen("-n", "1")
    #expect(try post(Self.body, to: port, signature: Self.signature) == "200")
    try program.result().expect(
      0,
      prints: #"{"event":"channel_occupied","channel":"my-channel","#
        + #""data":{"time_ms":1327078148132}}"# + "\n")
  }

  @Test func `each event of a webhook is a line, with everything it tells`() throws {
    let (program, port) = try listen("-t")
    let body =
      #"{"time_ms":1,"events":[{"name":"member_added","channel":"presence-a","user_id":"7"},"#
      + #"{"name":"client_event","channel":"private-a","event":"client-x","data":"{\"n\":1.10}","#
      + #""socket_id":"1.2","user_id":"8"}]}"#
    let signature = WebhookSignature.sign(Array(body.utf8), secret: Self.secret)
    #expect(try post(body, to: port, signature: signature.uppercased()) == "200")
    let lines = try program.lines(2)
    #expect(lines[0].contains(#"Z","event":"member_added","channel":"presence-a","user_id":"7","#))
    #expect(
      lines[1].hasSuffix(
        #""user_id":"8","data":{"time_ms":1,"event":"client-x","data":"{\"n\":1.10}","#
          + #""socket_id":"1.2"}}"#))
    try program.end()
  }

  @Test func `an ID that is a number is printed as text, and one of another kind as data`() throws {
    let (program, port) = try listen("-n", "3")
    let body =
      #"{"time_ms":"1","events":[{"name":"member_added","channel":"presence-a","user_id":42},"#
      + #"{"name":"member_added","channel":"presence-a","user_id":12345678901234567890},"#
      + #"{"name":"x","channel":7,"user_id":{"a":1}}]}"#
    #expect(try post(body, to: port) == "200")
    let result = try program.result()
    #expect(result.ending == .exited(0))
    let added = { (id: String) in
      #"{"event":"member_added","channel":"presence-a","user_id":"\#(id)","data":{"time_ms":"1"}}"#
        + "\n"
    }
    #expect(
      result.outputText == added("42") + added("12345678901234567890")
        + #"{"event":"x","channel":null,"data":{"time_ms":"1","channel":7,"user_id":{"a":1}}}"#
        + "\n")
  }

  @Test func `what nobody signed is refused, said and not printed`() throws {
    let (program, port) = try listen("-n", "1")
    for (status, words) in [
      (
        try post(Self.body + " ", to: port, signature: Self.signature),
        "401: the signature does not match the body"
      ),
      (try post(Self.body, to: port, signature: ""), "401: no X-Pusher-Signature"),
      (try post(Self.body, to: port, key: "other"), "401: X-Pusher-Key is not this app's key"),
      (try post(Self.body, to: port, method: "GET"), "405"), (try post("[]", to: port), "400"),
    ] {
      #expect(status == words.prefix(3))
      try program.errorLine(containing: "HTTP \(words)")
    }
    #expect(try post(Self.body, to: port) == "200")
    #expect(try program.result().outputText.split(separator: "\n").count == 1)
  }

  @Test
  func `--where prints and counts only the events with a value, and all webhooks are answered`()
    throws
  {
    let (program, port) = try listen(
      "-n", "2", "--where", #"user_id == "7""#, "--where", #"event ~ "member_*""#)
    let others = #"{"time_ms":1,"events":[{"name":"channel_occupied","channel":"presence-a"}]}"#
    #expect(try post(others, to: port) == "200")
    let body =
      #"{"time_ms":1,"events":[{"name":"member_added","channel":"presence-a","user_id":"8"},"#
      + #"{"name":"member_added","channel":"presence-a","user_id":"7"},"#
      + #"{"name":"client_event","channel":"presence-a","event":"client-x","user_id":"7"},"#
      + #"{"name":"member_removed","channel":"presence-a","user_id":"7"}]}"#
    #expect(try post(body, to: port) == "200")
    try program.result().expect(
      0,
      prints: ["member_added", "member_removed"].map {
        #"{"event":"\#($0)","channel":"presence-a","user_id":"7","data":{"time_ms":1}}"# + "\n"
      }.joined())
  }

  @Test func `--fail-where ends with 5, after the events before it`() throws {
    let (program, port) = try listen("--fail-where", #"user_id == "7""#)
    let body =
      #"{"time_ms":1,"events":[{"name":"channel_occupied","channel":"presence-a"},"#
      + #"{"name":"member_added","channel":"presence-a","user_id":"7"},"#
      + #"{"name":"channel_vacated","channel":"presence-a"}]}"#
    #expect(try post(body, to: port) == "200")
    let result = try program.result()
    result.expect(
      5, prints: #"{"event":"channel_occupied","channel":"presence-a","data":{"time_ms":1}}"# + "\n"
    )
    #expect(
      result.errorLines.last
        == #"pusher-cli: error: the server sent 'member_added': {"time_ms":1}"#,
      "\(result.errorText)")
  }

  // MARK: Acknowledgements

  private static func webhook(_ number: Int, size: Int = 65_536) -> String {
    let filling = String(repeating: "x", count: size)
    return #"{"events":[{"name":"e","channel":"\#(number)","filling":"\#(filling)"}]}"#
  }

  @Test func `a webhook whose line cannot be written is answered with 503`() throws {
    let (program, port) = try listen(output: .file("/dev/full"))
    let client = try send(Self.body, to: port)
    try client.await("\r\n\r\n")
    #expect(client.text.hasPrefix("HTTP/1.1 503 "), "\(client.text)")
    #expect(client.text.contains("Retry-After: 1\r\n"), "\(client.text)")
    #expect(try program.wait() == .exited(6))
  }

  @Test func `while nobody reads, a webhook waits, and further ones get 503`() throws {
    let (program, port) = try listen()
    var clients: [RawClient] = []
    // One at a time until the pipe is full: several in one round fill the queue before it is.
    var queued = 0
    while queued == 0 {
      let client = try send(Self.webhook(clients.count), to: port)
      try waitUntil("webhook \(clients.count) is answered or queued") {
        queued = try program.goRound(1)
        return queued > 0 || !client.text.isEmpty
      }
      clients.append(client)
    }
    try waitUntil("a webhook is answered with 503") {
      // Fewer than the connection limit, and more than pipe and queue hold.
      if clients.count < 100 { clients.append(try send(Self.webhook(clients.count), to: port)) }
      return clients.contains { $0.text.hasPrefix("HTTP/1.1 503 ") }
    }
    let said = try program.errorLine(containing: "503", readsOutput: false)
    #expect(
      said
        == "pusher-cli: warning: 256 KiB of lines wait for a reader; webhooks get HTTP 503 "
        + "until the lines are written")
    // Everything sent is read by then. Webhooks within the pipe are answered, queued ones are not.
    try program.goRound(10)
    let waiting = clients.indices.filter { clients[$0].text.isEmpty }
    #expect(!waiting.isEmpty)
    let refused = clients.filter { $0.text.hasPrefix("HTTP/1.1 503 ") }
    #expect(refused.allSatisfy { $0.text.contains("Retry-After: 1\r\n") })
    let lines = try program.lines(clients.count - refused.count)
    try waitUntil("the others are answered") { waiting.allSatisfy { !clients[$0].text.isEmpty } }
    let taken = clients.indices.filter { clients[$0].text.hasPrefix("HTTP/1.1 200 ") }
    #expect(taken.count == lines.count)
    for number in taken {
      #expect(lines.contains { $0.contains(#""channel":"\#(number)""#) }, "\(number)")
    }
    #expect(try post(Self.body, to: port) == "200")
    #expect(try program.line().contains("my-channel"))
  }

  @Test func `a webhook whose lines are too long is refused as a whole`() throws {
    let (program, port) = try listen()
    let time = String(repeating: "1", count: 1000)
    let events = Array(repeating: #"{"name":"e"}"#, count: 20_000).joined(separator: ",")
    let client = try send(#"{"time_ms":"\#(time)","events":[\#(events)]}"#, to: port)
    try client.await("\r\n\r\n")
    #expect(client.text.hasPrefix("HTTP/1.1 413 "), "\(client.text)")
    #expect(client.text.contains("its lines are larger than 16 MiB"))
    #expect(try post(Self.body, to: port) == "200")
    #expect(try program.line().contains("my-channel"))
  }
}

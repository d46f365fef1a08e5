import PusherConsole
import PusherCore
import PusherServer
import Testing

final class ConsoleHarness {
  static let token = "0123456789abcdef"
  static let key = "278d425bdf160c739803"

  let test: ServerHarness

  init(
    recording: String? = nil, history: Int = 0, keepsToken: Bool = false,
    _ change: (inout ServerOptions) -> Void = { _ in }
  ) throws {
    test = try ServerHarness { options in
      options.console = .thisMachine
      change(&options)
    }
    let page = ConsoleOptions(
      token: Self.token, keepsToken: keepsToken, version: "1.2.3", recording: recording,
      history: history)
    test.server.console = Console(page, host: test.server)
  }

  /// An answer's status, its fields in lower case, and its body.
  struct Answer {
    let status: Int
    let head: String
    let body: String

    var json: JSONValue? { try? JSONParser.parse(body) }
    var error: String? { json?["error"]?.text }
  }

  func ask(
    _ method: String, _ target: String, headers: [String] = [], body: String? = nil
  ) throws -> Answer {
    var lines = ["\(method) \(target) HTTP/1.1", "Connection: close"] + headers
    if !headers.contains(where: { $0.begins(with: "Host:") }) { lines.append("Host: localhost") }
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    let client = test.raw(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    #expect(test.run { client.hasEnded }, "\(method) \(target) has an answer")
    let parts = client.text.pieces(separatedBy: "\r\n\r\n")
    let status = parts[0].split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return Answer(
      status: status ?? 0, head: parts[0].lowercased(),
      body: parts.dropFirst().joined(separator: "\r\n\r\n"))
  }

  private static let bearer = "Authorization: Bearer \(token)"

  func get(_ target: String) throws -> Answer {
    try ask("GET", "/console/\(target)", headers: [Self.bearer])
  }

  func post(_ name: String, _ order: JSONValue) throws -> Answer {
    try ask("POST", "/console/\(name)", headers: [Self.bearer], body: JSONWriter.text(order))
  }

  func stream(lastEventID id: String? = nil) throws -> RawClient {
    let field = id.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    let client = test.raw(
      "GET /console/events HTTP/1.1\r\nHost: localhost\r\n\(field)\(Self.bearer)\r\n\r\n")
    #expect(test.run { client.text.holds("event: hello") })
    return client
  }

  /// Returns the first message of a stream.
  func hello(_ client: RawClient) throws -> JSONValue {
    let line = try #require(client.text.lines.first { $0.holds(#"{"version""#) })
    return try JSONValue(parsing: String(line.dropFirst("data: ".count)))
  }

  /// Returns the numbers of the messages that have an ID.
  func numbers(_ client: RawClient) -> [Int] {
    client.text.lines.compactMap { line in
      String(line).dropping(prefix: "id: ")?.split(separator: "-").last.flatMap { Int($0) }
    }
  }

  func entries(_ client: RawClient, _ kind: String) -> [JSONValue] {
    client.text.lines.compactMap { line in
      guard let data = String(line).dropping(prefix: "data: "),
        let value = try? JSONParser.parse(data), value["kind"]?.text == kind
      else { return nil }
      return value
    }
  }

  func await(_ count: Int, _ kind: String, at client: RawClient) -> [JSONValue] {
    #expect(
      test.run { self.entries(client, kind).count >= count }, "\(count) of \(kind): \(client.text)")
    return entries(client, kind)
  }

  func subscriber(_ channel: String) throws -> LoopSocket {
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe(channel)
    #expect(test.run { socket.texts.contains { $0.contains("subscription_succeeded") } })
    return socket
  }
}

import PusherConsole
import PusherCore
import PusherServer
import Testing

final class ConsoleHarness {
  static let token = "0123456789abcdef"
  static let key = Application.forTests().key
  static let appSecret = Application.forTests().secret

  let test: ServerHarness
  private var senders: [RawClient] = []

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
    let isNamed = headers.contains { $0.begins(with: "Host:") }
    let fields = ["Connection: close"] + headers + (isNamed ? [] : ["Host: localhost"])
    let text = test.answer(to: ServerHarness.request("\(method) \(target)", fields, body: body))
    let parts = text.pieces(separatedBy: "\r\n\r\n")
    let status = parts[0].split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return Answer(
      status: status ?? 0, head: parts[0].lowercased(),
      body: parts.dropFirst().joined(separator: "\r\n\r\n"))
  }

  static let bearer = "Authorization: Bearer \(token)"

  func get(_ target: String) throws -> Answer {
    try ask("GET", "/console/\(target)", headers: [Self.bearer])
  }

  func post(_ name: String, body: String) throws -> Answer {
    try ask("POST", "/console/\(name)", headers: [Self.bearer], body: body)
  }

  func post(_ name: String, _ order: JSONValue) throws -> Answer {
    try post(name, body: JSONWriter.text(order))
  }

  /// Sends a call of the HTTP API on a connection of its own.
  func call(
    _ name: String, _ channels: [String], data: String = "1", secret: String = appSecret
  ) throws {
    let sender = test.raw()
    sender.send(try test.call(name, channels, data: data, secret: secret))
    senders.append(sender)
  }

  /// The number of answered calls that the server has told.
  var callCount: Int { test.events.count { "\($0)".begins(with: "POST") } }

  static func streamRequest(lastEventID id: String? = nil) -> String {
    let field = id.map { ["Last-Event-ID: \($0)"] } ?? []
    return ServerHarness.request("GET /console/events", ["Host: localhost"] + field + [bearer])
  }

  func stream(lastEventID id: String? = nil) throws -> RawClient {
    let client = test.raw(Self.streamRequest(lastEventID: id))
    #expect(test.run { client.text.holds("event: hello") })
    return client
  }

  /// Returns the first message of a stream.
  func hello(_ client: RawClient) throws -> JSONValue {
    let line = try #require(client.text.lines.first { String($0).holds(#"{"version""#) })
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

  /// Runs until the stream has room for one more reader; returns false if it gets none.
  func getsRoom() -> Bool {
    test.run { [test] in
      let reader = test.server.feed.open(test.harness.loop.wakeUp)
      reader.map { test.server.feed.close($0) }
      return reader != nil
    }
  }

  /// A socket on these channels; on a presence channel as Ada.
  func subscriber(_ channels: String...) throws -> LoopSocket {
    let socket = try test.established()
    for channel in channels {
      let isPresence = channel.hasPrefix("presence-")
      socket.subscribe(
        channel, channelData: isPresence ? #"{"user_id":"ada","user_info":{"n":"A"}}"# : nil)
    }
    #expect(
      test.run {
        socket.texts.count { $0.contains("subscription_succeeded") } == channels.count
      })
    return socket
  }
}

/// Expects these members among those of an object.
func expect(
  _ value: JSONValue?, has members: KeyValuePairs<String, JSONValue>,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  for (name, member) in members {
    #expect(value?[name] == member, "\(name)", sourceLocation: sourceLocation)
  }
}

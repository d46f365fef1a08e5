import PusherCore
import PusherTesting

/// A program for another library, before and after its port.
extension Samples {
  private final class States: PusherDelegate {
    let states = Heard<String>()
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
      states.add(new.stringValue())
    }
  }

  static func libPusher(_ server: PusherTestServer) async throws {
    let shown = Heard<String>()
    @Sendable func show(_ text: String) { shown.add(text) }
    let delegate = States()

    let options = PusherClientOptions(
      authMethod: .endpoint(authEndpoint: "https://example.com/pusher/auth"), retries: .libPusher)
    let client = Pusher(key: "APP_KEY", options: options)
    client.delegate = delegate
    client.connect()

    let chat = client.subscribeToPrivateChannel(named: "chat")
    let binding = chat.bind(eventName: "new-message") { event in
      show(event.jsonObject?["text"]?.text ?? "")
    }
    try chat.trigger(eventName: "client-typing", data: ["user": "ann"])

    try await server.subscribers(of: "private-chat", reach: 1)
    try await server.trigger("new-message", channels: ["private-chat"], data: ["text": "hello"])
    print("libPusher:", await shown.next() ?? "nothing")
    try expect(await delegate.states.next() == "connecting", "the delegate was not told")

    chat.removeBinding(binding)
    withExtendedLifetime(delegate) {}
  }

  static func eventflit(_ server: PusherTestServer) async throws {
    let heard = Heard<Bool>()
    @Sendable func ready() { heard.add(true) }

    let options = PusherClientOptions(
      authMethod: .inline(secret: "APP_SECRET"), host: .cluster("eu"), service: .eventflit)
    let eventflit = Pusher(key: "APP_KEY", options: options)
    let channel = eventflit.subscribe("private-orders")
    channel.bind(eventName: "eventflit:subscription_succeeded") { _ in ready() }
    eventflit.connect()

    print("Eventflit:", await heard.next() == true ? "ready" : "not ready")
  }

  static func eventSource() async throws {
    let noted = Heard<String>()
    @Sendable func note(_ text: String) { noted.add(text) }
    let little = try LittleServer()
    let serverURL = little.url

    let eventSource = EventSource(url: serverURL, headers: ["Authorization": "Basic xyz"])

    eventSource.onOpen { note("open") }

    eventSource.onMessage { id, event, data in note("\(event ?? ""): \(data ?? "")") }

    eventSource.addEventListener("user-connected") { id, event, data in
      note("\(data ?? "") is here")
    }

    eventSource.onComplete { status, shouldReconnect, error in
      note("closed with \(status.map(String.init) ?? "no status")")
    }

    eventSource.connect()

    for expected in ["open", "message: hello", "Ann is here", "open", "back after 2 is here"] {
      let next = await noted.next() ?? "nothing"
      try expect(next == expected, "\(next), not \(expected)")
    }
    print("EventSource: came back with the last id")
    eventSource.disconnect()
    print("EventSource:", await noted.next() ?? "nothing")
    try await messages(little)
    try await launchDarkly(little)
    little.stop()
  }

  private static func messages(_ little: LittleServer) async throws {
    let noted = Heard<String>()
    @Sendable func note(_ text: String) { noted.add(text) }
    let eventSource = EventSource(url: little.url)

    let messages = eventSource.messages()
    eventSource.connect()
    for await message in messages {
      note("\(message.event) \(message.data)")
      if message.id == "3" { break }
    }
    eventSource.disconnect()

    print("EventSource: reads", await noted.next() ?? "nothing")
  }

  private static func launchDarkly(_ little: LittleServer) async throws {
    let noted = Heard<String>()
    @Sendable func note(_ text: String) { noted.add(text) }
    @Sendable func token() async throws -> String { "xyz" }
    let streamURL = little.url

    var settings = EventSourceSettings()
    settings.headersForEachConnection = { ["Authorization": "Bearer \(try await token())"] }
    settings.reconnect.mode = .always
    settings.reconnectionTime = .seconds(1)
    settings.silenceTimeout = .seconds(300)

    let eventSource = EventSource(url: streamURL, settings: settings)
    eventSource.onOpen { note("open") }
    eventSource.onComment { comment in note("comment \(comment)") }
    eventSource.onComplete { status, shouldReconnect, error in
      note(error.map { "closed: \($0)" } ?? "closed")
    }

    let events = eventSource.messages()
    eventSource.connect(lastEventId: "41")
    for await event in events {
      note("\(event.event): \(event.data)")
      if event.event == "user-connected" { break }
    }
    eventSource.disconnect()

    for expected in ["open", "comment welcome", "user-connected: back after 41", "closed"] {
      let next = await noted.next() ?? "nothing"
      try expect(next == expected, "\(next), not \(expected)")
    }
    print("EventSource: told of a comment")
  }
}

import Foundation
import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Binding to events` {
  private let client: JoinedClient
  private var service: LocalService { client.service }
  private var pusher: Pusher { client.pusher }
  private var channel: PusherChannel { client.channel }
  private var delegate: RecordingDelegate { client.delegate }
  private let told = Gathered<String>()

  init() async throws { client = try await JoinedClient() }

  private func note(_ text: String) -> @Sendable (PusherEvent) -> Void {
    { [told] in told.add("\(text) \($0.channelName ?? "-") \($0.eventName)") }
  }

  private func send(_ events: (String, String)...) async throws -> [String] {
    let end = Gathered<String>()
    let binding = pusher.bind(eventName: "end") { _ in end.add("") }
    for (name, channel) in events { try await service.trigger(name, channel, "1") }
    try await service.trigger("end", "a")
    _ = try await end.wait()
    pusher.unbind(callbackId: binding)
    return told.values.filter { !$0.hasSuffix(" end") }
  }

  @Test func `handlers bound by pattern, on client or channel, get what matches`() async throws {
    pusher.bind(matching: "order.*", "App\\Events\\*", eventCallback: note("client"))
    let binding = channel.bind(
      matching: "*", excluding: ["order.[0-9]", "end"], eventCallback: note("channel"))
    let said = try await send(
      ("order.1", "a"), ("order.x", "b"), ("App\\Events\\Paid", "a"), ("orders", "a"))
    #expect(
      said == [
        "client a order.1", "client b order.x", "channel a App\\Events\\Paid",
        "client a App\\Events\\Paid", "channel a orders",
      ])
    #expect(channel.removeBinding(binding))
  }

  @Test func `bind on the client and per channel, by name and to all events`() async throws {
    pusher.bind(eventCallback: note("client"))
    pusher.bind(eventName: "x", eventCallback: note("client's named"))
    channel.bind(eventCallback: note("channel"))
    channel.bind(eventName: "x", eventCallback: note("named"))
    #expect(
      try await send(("x", "a"), ("y", "b"), ("x", "b")) == [
        "named a x", "channel a x", "client's named a x", "client a x", "client b y",
        "client's named b x", "client b x",
      ])
  }

  @Test func `unbind with event name and callback id`() async throws {
    let first = channel.bind(eventName: "x", eventCallback: note("first"))
    channel.bind(eventName: "x", eventCallback: note("second"))
    channel.unbind(eventName: "y", callbackId: first)
    #expect(try await send(("x", "a")) == ["first a x", "second a x"])
    channel.unbind(eventName: "x", callbackId: first)
    #expect(try await send(("x", "a")).dropFirst(2) == ["second a x"])
  }

  @Test func `removeBinding by its token, wherever it was bound`() async throws {
    let places: [any PusherEventBindings] = [pusher, channel, pusher.user, pusher, channel]
    let bindings = [
      pusher.bind(eventCallback: note("1")), channel.bind(eventCallback: note("2")),
      pusher.user.bind(eventCallback: note("3")),
      pusher.bind(eventName: "x", eventCallback: note("4")),
      channel.bind(eventName: "x", eventCallback: note("5")),
    ]
    for (number, place) in places.enumerated() {
      // The next two belong to other places.
      for other in bindings[(number + 1)...].prefix(2) { #expect(!place.removeBinding(other)) }
      #expect(place.removeBinding(bindings[number]))
      #expect(!place.removeBinding(bindings[number]))
    }
    #expect(try await send(("x", "a")).isEmpty)
  }

  @Test func `unbindAll for a name, for a channel and for the client`() async throws {
    channel.bind(eventName: "x", eventCallback: note("x"))
    channel.bind(eventName: "y", eventCallback: note("y"))
    pusher.bind(eventCallback: note("client"))
    channel.unbindAll(forEventName: "x")
    #expect(try await send(("x", "a"), ("y", "a")) == ["client a x", "y a y", "client a y"])
    channel.unbindAll()
    pusher.unbindAll()
    #expect(try await send(("x", "a"), ("y", "a")).count == 3)
  }

  @Test func `callback gets data as a value, and non-JSON data survives`() async throws {
    let values = Gathered<JSONValue?>()
    channel.bind(eventName: "x", callback: { values.add($0) })
    for data in [#"{"price":"1.10"}"#, "plain text", "[1,2]", "12"] {
      try await service.trigger("x", "a", data)
    }
    #expect(
      try await values.wait(for: 4) == [
        ["price": "1.10"], "plain text", [1, 2], .number("12"),
      ])
  }

  @Test func `callback on the client gets the whole message`() async throws {
    let values = Gathered<JSONValue?>()
    pusher.bind(callback: { values.add($0) })
    try await service.trigger("x", "a", #"{"n":1}"#)
    #expect(try await values.wait() == [["event": "x", "channel": "a", "data": ["n": 1]]])
  }

  @Test func `a callback of Any gets dictionaries, arrays, text and numbers`() async throws {
    let told = Gathered<String>()
    let read: @Sendable (Any?) -> Void = { data in
      guard let data = data as? [String: AnyObject] else { return told.add("\(data ?? "nothing")") }
      let list = data["l"] as? [Any]
      told.add(
        "\(data["t"] as? String ?? "-") \(data["n"] as? Int ?? 0) \(data["d"] as? Double ?? 0)"
          + " \(data["b"] as? Bool ?? false) \(list?.count ?? 0) \(data["z"] as? String ?? "nil")")
    }
    channel.bind(eventName: "x", callback: read)
    channel.bind(eventName: "x") { (data: Any?) in read(data) }
    let object = #"{"t":"a","n":7,"d":1.5,"b":true,"l":[1,null],"z":null}"#
    for data in [object, "plain", "12"] { try await service.trigger("x", "a", data) }
    let one = "a 7 1.5 true 2 nil"
    #expect(try await told.wait(for: 6) == [one, one, "plain", "plain", "12", "12"])
  }

  @Test func `a callback of Any on the client gets the message and its data`() async throws {
    let told = Gathered<String>()
    let read: @Sendable (Any?) -> Void = { message in
      let message = message as? [String: Any]
      let data = message?["data"] as? [String: Any]
      told.add(
        "\(message?["event"] as? String ?? "-") \(message?["n"] as? Int ?? 0)"
          + " \(data?["event"] as? String ?? "-") \(message?["channel"] as? String ?? "-")")
    }
    pusher.bind(callback: read)
    pusher.bind { (message: Any?) in read(message) }
    pusher.bind({ (message: Any?) in read(message) })
    try await service.trigger("x", "a", #"{"n":1,"event":"inner"}"#)
    let one = "x 1 inner a"
    #expect(try await told.wait(for: 3) == [one, one, one])
    pusher.bind(eventName: "y") { (data: Any?) in told.add("\(data ?? "nothing")") }
    pusher.unbindAll(forEventName: "none")
    try await service.trigger("y", "a", "7")
    #expect(try await told.wait(for: 7).filter { $0 == "7" } == ["7"])
  }

  @Test func `a handler may subscribe, leave and disconnect, and no event follows`() async throws {
    let pusher = pusher
    pusher.bind(eventName: "x") { [told] _ in
      told.add("x")
      pusher.subscribe("c")
      pusher.unsubscribe("b")
      pusher.disconnect()
    }
    for _ in 0..<5 { try await service.trigger("x", "a") }
    _ = try await delegate.disconnected.wait()
    #expect(told.values == ["x"])
    #expect(Set(pusher.connection.channels.channels.keys) == ["a", "c"])
  }

  @Test func `a handler that blocks loses no events`() async throws {
    let gate = Gathered<Int>()
    let areSent = DispatchSemaphore(value: 0)
    pusher.bind(eventName: "x") { [told] event in
      // The handler blocks until all other events were sent.
      if told.values.isEmpty { _ = areSent.wait(timeout: .now() + 60) }
      told.add(event.data ?? "")
      gate.add(1)
    }
    for number in 0..<30 { try await service.trigger("x", "a", "\(number)") }
    areSent.signal()
    _ = try await gate.wait(for: 30)
    #expect(told.values == (0..<30).map(String.init))
  }

  @Test func `events of another connection's making can be made for tests of handlers`() {
    let event = PusherEvent(
      eventName: "e", channelName: "presence-c", data: "{\"q\":\"\\\"\"}", userId: "7")
    #expect(event.data == "{\"q\":\"\\\"\"}")
    #expect(event.userId == "7")
    #expect(event.jsonObject == ["q": "\""])
    #expect(event.property(withKey: "event") == "e")
    #expect(event.property(withKey: "absent") == nil)
    #expect(PusherEvent(eventName: "e").data == nil)
  }
}

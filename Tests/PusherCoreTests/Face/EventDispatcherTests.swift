import TestSupport
import Testing

@testable import PusherCore

struct EventDispatcherTests {
  private let connection = PusherConnection(key: "key", options: PusherClientOptions())
  private let dispatcher: EventDispatcher
  private let seen = Locked<[String]>([])

  init() {
    connection.liveGeneration.store(1, ordering: .relaxed)
    dispatcher = EventDispatcher(connection: connection, service: .pusher, generation: 1)
    for name in ["a", "b", Self.longName] {
      dispatcher.channels[name] = PusherChannel(name: name, connection: connection)
    }
  }

  private static let longName = "a-channel-whose-name-is-longer-than-a-small-string"

  private func take(_ text: String) -> SinkVerdict {
    withView(Array(text.utf8)) { dispatcher.take(message: $0) }
  }

  private func noted() -> [String] {
    seen.withLock { seen in
      defer { seen = [] }
      return seen
    }
  }

  private func note(_ mark: String) -> @Sendable (PusherEvent) -> Void {
    let seen = seen
    return { event in
      let words = [mark, event.eventName, event.channelName ?? "-", event.data ?? "-"]
      seen.withLock { $0.append(words.joined(separator: " ")) }
    }
  }

  @Test func `a channel that a handler takes away gets no further event`() throws {
    nonisolated(unsafe) let dispatcher = dispatcher
    let note = note("own")
    let channel = try #require(dispatcher.channels["a"])
    let binding = channel.bindings.bind(to: "e") { event in
      note(event)
      if event.data == "last" { dispatcher.channels["a"] = nil }
    }
    for data in ["first", "second", "last", "late"] {
      #expect(take(#"{"event":"e","channel":"a","data":"\#(data)"}"#) == .taken)
    }
    #expect(noted() == ["first", "second", "last"].map { "own e a \($0)" })
    // Another channel of the same name has its own handlers.
    dispatcher.channels["a"] = PusherChannel(name: "a", connection: connection)
    #expect(take(#"{"event":"e","channel":"a","data":"late"}"#) == .taken)
    #expect(noted() == [])
    channel.bindings.unbind(binding)
  }

  @Test func `each event has its own names and data, whatever the one before had`() {
    var random = SeededGenerator(seed: 45)
    connection.bindings.insert(EventHandler(PusherBinding(), call: note("all")), for: nil)
    let names = ["e", "f", "price.updated", "another-event-with-a-name-that-is-long"]
    let channels = ["a", "b", "unknown", Self.longName]
    var own: [String: PusherBinding] = [:]
    for _ in 0..<20_000 {
      let channel = channels[Int.random(in: 0..<4, using: &random)]
      // Usually the same message again, as servers send it.
      let isSame = Int.random(in: 0..<4, using: &random) > 0
      let name = isSame ? names[0] : names[Int.random(in: 0..<4, using: &random)]
      let data = String(repeating: "x", count: Int.random(in: 0..<90, using: &random)) + "é"
      if let known = dispatcher.channels[channel], Int.random(in: 0..<50, using: &random) == 0 {
        if let binding = own.removeValue(forKey: channel) {
          known.bindings.unbind(binding)
        } else {
          own[channel] = known.bindings.bind(to: names[0], note("own"))
        }
      }
      if Int.random(in: 0..<100, using: &random) == 0 { dispatcher.trim() }
      let isDataLast = Int.random(in: 0..<4, using: &random) > 0
      let rest =
        isDataLast
        ? #""channel":"\#(channel)","data":"\#(data)""#
        : #""data":"\#(data)","channel":"\#(channel)""#
      #expect(take(#"{"event":"\#(name)",\#(rest)}"#) == .taken)
      let expected = (own[channel] != nil && name == names[0] ? ["own"] : []) + ["all"]
      #expect(noted() == expected.map { "\($0) \(name) \(channel) \(data)" })
    }
  }

  @Test func `a channel that is known from now on gets the next event of the same names`() {
    let message = #"{"event":"e","channel":"c","data":"1"}"#
    connection.bindings.insert(EventHandler(PusherBinding(), call: note("all")), for: nil)
    _ = take(message)
    #expect(noted() == ["all e c 1"])
    let channel = PusherChannel(name: "c", connection: connection)
    _ = channel.bindings.bind(to: "e", note("own"))
    dispatcher.channels["c"] = channel
    _ = take(message)
    #expect(noted() == ["own e c 1", "all e c 1"])
    dispatcher.channels["c"] = nil
    _ = take(message)
    #expect(noted() == ["all e c 1"])
  }

  @Test func `a handler may bind and unbind others and itself, at once or for the next event`() {
    let list = connection.bindings
    let (seen, note) = (seen, note("late"))
    let victim = PusherBinding()
    list.insert(
      EventHandler(PusherBinding()) { _ in
        list.unbind(victim)
        seen.withLock { $0.append("first") }
        _ = list.bind(to: "e", note)
      }, for: nil)
    list.insert(EventHandler(victim) { _ in seen.withLock { $0.append("victim") } }, for: nil)
    let once = PusherBinding()
    list.insert(
      EventHandler(once) { _ in
        list.unbind(once)
        seen.withLock { $0.append("once") }
      }, for: nil)
    let message = #"{"event":"e","channel":"a","data":"1"}"#
    _ = take(message)
    #expect(noted() == ["first", "once"])
    _ = take(message)
    #expect(noted() == ["late e a 1", "first"])
  }

  @Test func `data and handlers are let go when nobody needs them any more`() {
    final class Kept: Sendable {}
    weak var kept: Kept?
    let list = connection.bindings
    let binding: PusherBinding
    do {
      let object = Kept()
      kept = object
      binding = list.bind(to: nil) { _ in withExtendedLifetime(object) {} }
    }
    _ = take(#"{"event":"e","channel":"a","data":"1"}"#)
    #expect(kept != nil)
    list.unbind(binding)
    dispatcher.trim()
    #expect(kept == nil)
  }

  @Test func `events of another generation are taken and given to nobody`() {
    connection.bindings.insert(EventHandler(PusherBinding(), call: note("all")), for: nil)
    let message = #"{"event":"e","channel":"a","data":"1"}"#
    _ = take(message)
    connection.liveGeneration.store(2, ordering: .relaxed)
    #expect(take(message) == .taken)
    #expect(noted().count == 1)
    #expect(dispatcher.beginRound() == 1)
  }

  @Test func `a message that looks like the last one up to its end goes the general way`() {
    connection.bindings.insert(EventHandler(PusherBinding(), call: note("all")), for: nil)
    let start = #"{"event":"e","channel":"a","data":""#
    for rest in [
      #"1"}"#, #"\u0031"}"#, #"1","user_id":"7"}"#, #"1" }"#, #"1","channel":"b"}"#,
      #"1","event":"pusher:error"}"#,
    ] {
      _ = take(start + #"0"}"#)
      _ = noted()
      let verdict = take(start + rest)
      let words = rest.contains("pusher") ? [] : ["all e \(rest.contains("b") ? "b" : "a") 1"]
      #expect(noted() == words, "\(rest)")
      #expect(verdict == (rest.contains("pusher") ? .declined : .taken), "\(rest)")
    }
    _ = take(start + #"0"}"#)
    _ = noted()
    #expect(take(start) == .declined)
    #expect(take(start + #"1"#) == .declined)
    #expect(noted() == [])
  }
}

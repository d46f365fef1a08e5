import PusherCore
import TestSupport
import Testing

@Suite(
  "The library's handlers and the service's internal names", .ownThread, .timeLimit(.minutes(10)))
struct ReservedEventTests {
  private final class Log: PusherDelegate {
    let messages = Record<String>()
    func debugLog(message: String) { messages.add(message) }
  }

  @Test func `a name that is not ours to know reaches the delegate, and no handler`() throws {
    let server = try ScriptedServer.joined { connection in
      for name in ["news", "order", "subscription_count_v2"] {
        try connection.send(event: "pusher_internal:\(name)", data: "{}")
      }
      try connection.send(event: "order", data: "1")
    }
    let seen = Record<String>()
    let gate = Gate()
    let log = Log()
    let pusher = Pusher(
      key: "test-key",
      options: PusherClientOptions(host: .host("127.0.0.1"), port: Int(server.port), useTLS: false))
    pusher.delegate = log
    pusher.bind(eventCallback: { event in
      seen.add("all \(event.eventName)")
      if event.eventName == "order" { gate.open() }
    })
    let channel = pusher.subscribe("news")
    for name in ["pusher_internal:news", "pusher_internal:order"] {
      channel.bind(eventName: name) { seen.add("named \($0.eventName)") }
      pusher.bind(eventName: name) { seen.add("named \($0.eventName)") }
    }
    pusher.connect()
    try gate.wait()
    #expect(seen.values.filter { !$0.contains("subscription_succeeded") } == ["all order"])
    #expect(
      log.messages.values.filter { $0.contains("ignored") } == [
        "event pusher_internal:news on news ignored: unknown to this version",
        "event pusher_internal:order on news ignored: unknown to this version",
        "event pusher_internal:subscription_count_v2 on news ignored: unknown to this version",
      ])
    pusher.disconnect()
  }
}

import Foundation
import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Calls from many threads` {
  /// Runs `body` on `count` threads at once, each with its own seed, and waits for all.
  private static func onThreads(_ count: Int, _ body: @escaping @Sendable (UInt64) -> Void) async {
    let group = DispatchGroup()
    for seed in 1...count {
      group.enter()
      Thread.detachNewThread {
        body(UInt64(seed))
        group.leave()
      }
    }
    await withCheckedContinuation { all in group.notify(queue: .global()) { all.resume() } }
  }

  private static func call(
    _ pusher: Pusher, _ random: inout SeededGenerator, _ bindings: inout [PusherBinding],
    _ heard: Gathered<Int>
  ) {
    let names = ["a", "b", "private-c", "presence-d", "private-e"]
    let name = names[random.below(names.count)]
    let note: @Sendable (PusherEvent) -> Void = { event in
      heard.add(event.data?.utf8.count ?? 0)
      if event.eventName == "e" { pusher.channel(named: "b")?.unbindAll(forEventName: "never") }
    }
    switch random.next() % 24 {
    case 0...3: pusher.subscribe(name)
    case 4: pusher.unsubscribe(name)
    case 5: bindings.append(pusher.bind(eventCallback: note))
    case 6: bindings.append(pusher.bind(eventName: "e", eventCallback: note))
    case 7, 8:
      if let channel = pusher.channel(named: name) {
        bindings.append(channel.bind(eventName: "e", eventCallback: note))
      }
    case 9...11:
      if let last = bindings.popLast() {
        if !pusher.removeBinding(last), !pusher.user.removeBinding(last) {
          pusher.channel(named: name)?.removeBinding(last)
          pusher.user.watchlist.removeBinding(last)
        }
      }
    case 12: pusher.channel(named: name)?.unbindAll()
    case 13: try? pusher.channel(named: name)?.trigger(eventName: "x", data: ["n": 1])
    case 14: _ = pusher.subscribedChannels.map(\.name)
    case 15: _ = pusher.connection.channels.findPresence(name: name)?.members.count
    case 16: if random.next() % 8 == 0 { pusher.disconnect() }
    case 17, 18: pusher.connect()
    case 19: bindings.append(pusher.user.bind(eventName: "e", eventCallback: note))
    case 20: bindings.append(pusher.user.watchlist.bind { heard.add($0.userIds.count) })
    case 21:
      pusher.signIn()
      _ = pusher.user.userData
    case 22: _ = pusher.channel(named: name)?.subscriptionCount
    default:
      pusher.connection.reconnectAttemptsMax = Int(random.next() % 4)
      _ = pusher.connection.socketId
    }
  }

  @Test func `a client works after random calls from eight threads amid events`() async throws {
    let service = try LocalService()
    let secret = Application.forTests().secret
    let pusher = service.signingPusher {
      $0.userAuthMethod = .inline(secret: secret, userData: ["id": "7", "watchlist": ["7"]])
    }
    let delegate = RecordingDelegate(of: pusher)
    let heard = Gathered<Int>()
    pusher.connect()
    let api = service.api
    let source = Task {
      while !Task.isCancelled {
        try await api.trigger("e", channels: ["a", "b", "private-c"], data: "{}")
      }
    }
    await Self.onThreads(8) { seed in
      var random = SeededGenerator(seed: seed)
      var bindings: [PusherBinding] = []
      for _ in 0..<400 { Self.call(pusher, &random, &bindings, heard) }
    }
    source.cancel()
    _ = await source.result
    // The client still works in any resulting state.
    pusher.unsubscribeAll()
    pusher.unbindAll()
    pusher.disconnect()
    let last = Gathered<String?>()
    pusher.connection.reconnectAttemptsMax = nil
    pusher.subscribe("end").bind(eventName: "end") { last.add($0.data) }
    pusher.connect()
    try await condition("end is joined") { pusher.channel(named: "end")?.isSubscribed == true }
    try await service.trigger("end", "end", "yes")
    #expect(try await last.wait() == ["yes"])
    withExtendedLifetime(delegate) {}
  }

  private final class Weak: Sendable {
    nonisolated(unsafe) private weak let object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
    var isGone: Bool { object == nil }
  }

  @Test func `clients that come and go on many threads leave nothing behind`() async throws {
    let service = try LocalService()
    let made = Gathered<Weak>()
    await Self.onThreads(4) { seed in
      for number in 0..<10 {
        let pusher = service.signingPusher()
        made.add(Weak(pusher.subscribe("presence-\(seed)")))
        made.add(Weak(pusher.connection))
        pusher.bind { _ in }
        pusher.connect()
        if number % 2 == 0 { pusher.disconnect() }
      }
    }
    #expect(made.values.count == 80)
    // The last thread may still be closing its connection.
    try await condition("every client is gone") { made.values.allSatisfy(\.isGone) }
    while try await !service.api.channels().isEmpty {}
  }

  @Test(arguments: [false, true])
  func `a client that subscribes and never connects leaves nothing behind`(unsubscribes: Bool) {
    var objects: [Weak] = []
    do {
      let pusher = Pusher(key: "k")
      objects.append(Weak(pusher.connection))
      for name in ["a", "presence-p", "no channel's name"] {
        let channel = pusher.subscribe(name)
        objects.append(Weak(channel))
        channel.bind { _ in }
      }
      pusher.signIn()
      if unsubscribes { pusher.unsubscribeAll() }
    }
    #expect(objects.map(\.isGone) == [true, true, true, true])
  }
}

func condition(_ what: @autoclosure () -> String, _ isSo: () -> Bool) async throws {
  let limit = ContinuousClock.now + .seconds(30)
  while !isSo() {
    guard ContinuousClock.now < limit else { throw LocalService.Failure.late(what()) }
    try await Task.sleep(for: .milliseconds(2))
  }
}

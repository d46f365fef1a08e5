import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Channels of a client` {
  let service: LocalService
  let delegate = RecordingDelegate()
  init() throws { service = try LocalService() }

  @discardableResult private func connected(_ client: Pusher? = nil) async throws -> Pusher {
    let pusher = client ?? service.pusher()
    pusher.delegate = delegate
    pusher.connect()
    _ = try await delegate.connected.wait()
    return pusher
  }

  @Test func `channels are found by name and kind`() {
    let pusher = service.pusher()
    pusher.subscribe("a")
    pusher.subscribe("presence-p")
    let channels = pusher.connection.channels
    #expect(channels.find(name: "a")?.name == "a" && channels.find(name: "b") == nil)
    #expect(pusher.channel(named: "a") === channels.find(name: "a"))
    #expect(channels.findPresence(name: "presence-p")?.type == .presence)
    #expect(channels.findPresence(name: "a") == nil)
    #expect(Set(channels.channels.keys) == ["a", "presence-p"])
    #expect(pusher.subscribe("presence-p") is PusherPresenceChannel)
  }

  @Test func `subscribeToPrivateChannel and …PresenceChannel add the prefix`() async throws {
    let pusher = try await connected(service.signingPusher())
    #expect(pusher.subscribeToPrivateChannel(named: "x").name == "private-x")
    #expect(pusher.subscribeToPresenceChannel(named: "y").name == "presence-y")
    #expect(try await delegate.subscribed.wait(for: 2).sorted() == ["presence-y", "private-x"])
  }

  @Test func `unsubscribing ends channels and drops bindings, one by one or all`() async throws {
    let pusher = try await connected()
    let former = ["a", "b", "c"].map { pusher.subscribe($0) }
    let events = Gathered<String>()
    for channel in former { channel.bind(eventName: "e") { _ in events.add("former") } }
    pusher.bind(eventName: "e") { events.add($0.channelName ?? "") }
    _ = try await delegate.subscribed.wait(for: 3)
    former[0].unsubscribe()
    #expect(pusher.channel(named: "a") == nil && !former[0].isSubscribed)
    pusher.unsubscribe("b")
    pusher.unsubscribe("never")
    #expect(Set(pusher.connection.channels.channels.keys) == ["c"])
    pusher.unsubscribeAll()
    #expect(pusher.connection.channels.channels.isEmpty)
    #expect(pusher.subscribe("a") !== former[0])
    _ = try await delegate.subscribed.wait(for: 4)
    for name in ["c", "b", "a"] { try await service.trigger("e", name) }
    #expect(try await events.wait() == ["a"])
  }

  @Test(arguments: ["", "a b", "ä", String(repeating: "x", count: 201)])
  func `an impossible channel name is refused before sending`(_ name: String) async throws {
    let pusher = try await connected()
    let channel = pusher.subscribe(name)
    #expect(channel.failure?.type == "InvalidName")
    let failed = try await delegate.failed.wait()
    #expect(failed.first?.name == name)
    #expect(failed.first?.error == channel.failure)
    #expect(pusher.connection.channels.channels.isEmpty)
    #expect(!delegate.logged.values.contains { $0.contains("pusher:subscribe") })
  }

  @Test func `a presence channel's name has to begin with presence-`() async throws {
    let pusher = try await connected()
    let channel = pusher.subscribeToPresenceChannel(channelName: "private-x")
    #expect(channel.failure?.message.contains("presence-") == true)
    #expect(try await delegate.failed.wait().last?.error.type == "InvalidName")
  }
}

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Presence channels of a client` {
  let service: LocalService
  init() throws { service = try LocalService() }

  private func member(_ id: String) -> Pusher {
    let pusher = service.signingPusher()
    pusher.connection.userDataFetcher = {
      PusherPresenceChannelMember(userId: id, userInfo: ["name": .string("User \(id)")])
    }
    return pusher
  }

  /// Connects another member of `presence-room`.
  private func second() -> Pusher {
    let second = member("2")
    second.subscribe("presence-room")
    second.connect()
    return second
  }

  @Test(arguments: [true, false])
  func `members, me, myId and findMember are known once subscribed`(isTyped: Bool) async throws {
    let first = member("1")
    let (added, removed) = (Gathered<String>(), Gathered<String>())
    let noteAdded: OnMember = { added.add($0.userId) }
    let noteRemoved: OnMember = { removed.add($0.userId) }
    let any =
      isTyped
      ? first.subscribeToPresenceChannel(
        channelName: "presence-room", onMemberAdded: noteAdded, onMemberRemoved: noteRemoved)
      : first.subscribe("presence-room", onMemberAdded: noteAdded, onMemberRemoved: noteRemoved)
    let channel = try #require(any as? PusherPresenceChannel)
    #expect(channel.myId == nil && channel.me() == nil && channel.members.isEmpty)
    try await first.joined()
    #expect(channel.myId == "1" && channel.memberCount == 1)
    #expect(channel.me()?.userInfo["name"] == "User 1")

    let second = second()
    #expect(try await added.wait() == ["2"])
    #expect(channel.members.map(\.userId) == ["1", "2"])
    #expect(channel.findMember(userId: "2")?.userInfo["name"] == "User 2")
    #expect(channel.findMember(userId: "3") == nil)
    second.disconnect()
    #expect(try await removed.wait() == ["2"])
    #expect(channel.members.map(\.userId) == ["1"])
  }

  private typealias OnMember = @Sendable (PusherPresenceChannelMember) -> Void

  @Test func `a presence delegate is told of the subscription and of members`() async throws {
    final class Delegate: PusherPresenceChannelDelegate {
      let told = Gathered<String>()
      func presenceChannelDidSubscribe(_ channel: PusherPresenceChannel) {
        told.add("subscribed \(channel.memberCount)")
      }
      func presenceChannel(
        _ channel: PusherPresenceChannel, memberAdded member: PusherPresenceChannelMember
      ) { told.add("added \(member.userId)") }
      func presenceChannel(
        _ channel: PusherPresenceChannel, memberRemoved member: PusherPresenceChannelMember
      ) { told.add("removed \(member.userId)") }
    }
    let told = Delegate()
    let first = member("1")
    first.subscribeToPresenceChannel(named: "room", delegate: told)
    first.connect()
    _ = try await told.told.wait()
    let second = second()
    _ = try await told.told.wait(for: 2)
    second.disconnect()
    #expect(try await told.told.wait(for: 3) == ["subscribed 1", "added 2", "removed 2"])
  }

  @Test func `member_added and member_removed can be bound to as events`() async throws {
    let first = member("1")
    let events = Gathered<String>()
    let channel = first.subscribe("presence-room")
    for name in ["pusher:subscription_succeeded", "pusher:member_added", "pusher:member_removed"] {
      channel.bind(eventName: name) { events.add("\($0.eventName) \($0.data ?? "")") }
    }
    first.connect()
    _ = try await events.wait()
    let second = second()
    _ = try await events.wait(for: 2)
    second.disconnect()
    #expect(
      try await events.wait(for: 3) == [
        #"pusher:subscription_succeeded {"presence":{"count":1,"ids":["1"],"hash":{"1":{"name":"User 1"}}}}"#,
        #"pusher:member_added {"user_id":"2","user_info":{"name":"User 2"}}"#,
        #"pusher:member_removed {"user_id":"2","user_info":{"name":"User 2"}}"#,
      ])
  }

  @Test func `without a userDataFetcher the socket's id is the user's`() async throws {
    let pusher = service.signingPusher()
    let channel = pusher.subscribeToPresenceChannel(named: "room")
    try await pusher.joined()
    #expect(channel.myId == pusher.connection.socketId)
  }
}

import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Channels of a client` {
  let service: LocalService
  let delegate = RecordingDelegate()
  init() throws { service = try LocalService() }

  private func connected(_ pusher: Pusher) async throws -> Pusher {
    pusher.delegate = delegate
    pusher.connect()
    _ = try await delegate.connected.wait()
    return pusher
  }

  @Test func `subscribing works before and after the connection is made`() async throws {
    let pusher = service.pusher()
    pusher.subscribe("before")
    _ = try await connected(pusher)
    pusher.subscribe("after")
    #expect(try await delegate.subscribed.wait(for: 2).sorted() == ["after", "before"])
  }

  @Test func `many channels share one connection`() async throws {
    let pusher = try await connected(service.pusher())
    for number in 0..<50 { pusher.subscribe("c\(number)") }
    _ = try await delegate.subscribed.wait(for: 50)
    #expect(pusher.subscribedChannels.count == 50)
  }

  @Test func `subscribing twice asks the server once`() async throws {
    let pusher = try await connected(service.pusher())
    let first = pusher.subscribe("a")
    #expect(pusher.subscribe("a") === first)
    pusher.subscribe("b")
    _ = try await delegate.subscribed.wait(for: 2)
    #expect(delegate.subscribed.values == ["a", "b"])
    #expect(delegate.errors.values.isEmpty)
  }

  @Test func `channels are found by name and kind`() async throws {
    let pusher = service.pusher()
    pusher.subscribe("a")
    pusher.subscribe("presence-p")
    let channels = pusher.connection.channels
    #expect(channels.find(name: "a")?.name == "a")
    #expect(pusher.channel(named: "a") === channels.find(name: "a"))
    #expect(channels.find(name: "b") == nil)
    #expect(channels.findPresence(name: "presence-p")?.type == .presence)
    #expect(channels.findPresence(name: "a") == nil)
    #expect(Set(channels.channels.keys) == ["a", "presence-p"])
    #expect(pusher.subscribe("presence-p") is PusherPresenceChannel)
  }

  @Test func `subscribeToPrivateChannel and subscribeToPresenceChannel add the prefix`()
    async throws
  {
    let pusher = try await connected(service.signingPusher())
    #expect(pusher.subscribeToPrivateChannel(named: "x").name == "private-x")
    #expect(pusher.subscribeToPresenceChannel(named: "y").name == "presence-y")
    #expect(
      try await delegate.subscribed.wait(for: 2).sorted() == ["presence-y", "private-x"])
  }

  @Test func `isSubscribed follows the server's word`() async throws {
    let pusher = service.pusher()
    let channel = pusher.subscribe("a")
    #expect(!channel.isSubscribed)
    _ = try await connected(pusher)
    _ = try await delegate.subscribed.wait()
    #expect(channel.isSubscribed && channel.subscribed)
    pusher.disconnect()
    _ = try await delegate.disconnected.wait()
    #expect(!channel.isSubscribed)
    #expect(pusher.subscribedChannels.isEmpty)
  }

  @Test func `unsubscribing ends the channel and drops its bindings`() async throws {
    let pusher = try await connected(service.pusher())
    let events = Gathered<String>()
    let former = pusher.subscribe("a")
    former.bind(eventName: "e") { _ in events.add("former") }
    pusher.bind(eventName: "end") { _ in events.add("end") }
    _ = try await delegate.subscribed.wait()
    former.unsubscribe()
    #expect(pusher.channel(named: "a") == nil)
    #expect(!former.isSubscribed)
    let next = pusher.subscribe("a")
    #expect(next !== former)
    _ = try await delegate.subscribed.wait(for: 2)
    try await service.trigger("e", "a")
    try await service.trigger("end", "a")
    #expect(try await events.wait() == ["end"])
  }

  @Test func `unsubscribe by name and unsubscribeAll leave channels`() async throws {
    let pusher = try await connected(service.pusher())
    for name in ["a", "b", "c"] { pusher.subscribe(name) }
    _ = try await delegate.subscribed.wait(for: 3)
    pusher.unsubscribe("a")
    pusher.unsubscribe("never")
    #expect(Set(pusher.connection.channels.channels.keys) == ["b", "c"])
    pusher.unsubscribeAll()
    #expect(pusher.connection.channels.channels.isEmpty)
    let events = Gathered<String?>()
    pusher.bind(eventName: "e") { events.add($0.channelName) }
    pusher.subscribe("d")
    _ = try await delegate.subscribed.wait(for: 4)
    for name in ["a", "b", "c", "d"] { try await service.trigger("e", name) }
    #expect(try await events.wait() == ["d"])
  }

  @Test(arguments: ["", "a b", "ä", String(repeating: "x", count: 201)])
  func `a name that no channel can have is refused before anything is sent`(_ name: String)
    async throws
  {
    let pusher = try await connected(service.pusher())
    let channel = pusher.subscribe(name)
    #expect(channel.failure?.type == "InvalidName")
    let failed = try await delegate.failed.wait()
    #expect(failed.first?.name == name)
    #expect(failed.first?.error == channel.failure)
    #expect(pusher.connection.channels.channels.isEmpty)
    #expect(!delegate.logged.values.contains { $0.contains("pusher:subscribe") })
  }

  @Test func `a presence channel's name has to begin with presence-`() async throws {
    let pusher = try await connected(service.pusher())
    let channel = pusher.subscribeToPresenceChannel(channelName: "private-x")
    #expect(channel.failure?.message.contains("presence-") == true)
    #expect(try await delegate.failed.wait().last?.error.type == "InvalidName")
  }

  @Test func `a cache channel is subscribed like any other`() async throws {
    let pusher = service.pusher()
    let events = Gathered<String>()
    pusher.subscribe("cache-a").bind { events.add($0.eventName) }
    _ = try await connected(pusher)
    _ = try await delegate.subscribed.wait()
    #expect(try await events.wait().first == "pusher:subscription_succeeded")
  }
}

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Presence channels of a client` {
  let service: LocalService
  init() throws { service = try LocalService() }

  private func member(_ id: String, _ delegate: RecordingDelegate) -> Pusher {
    let pusher = service.signingPusher()
    pusher.delegate = delegate
    pusher.connection.userDataFetcher = {
      PusherPresenceChannelMember(userId: id, userInfo: ["name": .string("User \(id)")])
    }
    return pusher
  }

  @Test func `members, me, myId and findMember are known once the channel is subscribed`()
    async throws
  {
    let delegates = (RecordingDelegate(), RecordingDelegate())
    let first = member("1", delegates.0)
    let added = Gathered<String>()
    let removed = Gathered<String>()
    let channel = first.subscribeToPresenceChannel(
      channelName: "presence-room", onMemberAdded: { added.add($0.userId) },
      onMemberRemoved: { removed.add($0.userId) })
    #expect(channel.myId == nil && channel.me() == nil && channel.members.isEmpty)
    first.connect()
    _ = try await delegates.0.subscribed.wait()
    #expect(channel.myId == "1")
    #expect(channel.me()?.userInfo["name"] == "User 1")
    #expect(channel.memberCount == 1)

    let second = member("2", delegates.1)
    second.subscribe("presence-room")
    second.connect()
    #expect(try await added.wait() == ["2"])
    #expect(channel.members.map(\.userId) == ["1", "2"])
    #expect(channel.findMember(userId: "2")?.userInfo["name"] == "User 2")
    #expect(channel.findMember(userId: "3") == nil)
    second.disconnect()
    #expect(try await removed.wait() == ["2"])
    #expect(channel.members.map(\.userId) == ["1"])
  }

  @Test func `subscribe takes onMemberAdded and onMemberRemoved too`() async throws {
    let delegates = (RecordingDelegate(), RecordingDelegate())
    let first = member("1", delegates.0)
    let added = Gathered<String>()
    let channel = first.subscribe("presence-room", onMemberAdded: { added.add($0.userId) })
    first.connect()
    _ = try await delegates.0.subscribed.wait()
    let second = member("2", delegates.1)
    second.subscribe("presence-room")
    second.connect()
    #expect(try await added.wait() == ["2"])
    #expect((channel as? PusherPresenceChannel)?.memberCount == 2)
  }

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
    let delegates = (RecordingDelegate(), RecordingDelegate())
    let told = Delegate()
    let first = member("1", delegates.0)
    first.subscribeToPresenceChannel(named: "room", delegate: told)
    first.connect()
    _ = try await told.told.wait()
    let second = member("2", delegates.1)
    second.subscribeToPresenceChannel(named: "room")
    second.connect()
    _ = try await told.told.wait(for: 2)
    second.disconnect()
    #expect(try await told.told.wait(for: 3) == ["subscribed 1", "added 2", "removed 2"])
  }

  @Test func `member_added and member_removed can be bound to as events`() async throws {
    let delegates = (RecordingDelegate(), RecordingDelegate())
    let first = member("1", delegates.0)
    let events = Gathered<String>()
    let channel = first.subscribe("presence-room")
    for name in ["pusher:subscription_succeeded", "pusher:member_added", "pusher:member_removed"] {
      channel.bind(eventName: name) { events.add("\($0.eventName) \($0.data ?? "")") }
    }
    first.connect()
    _ = try await events.wait()
    let second = member("2", delegates.1)
    second.subscribe("presence-room")
    second.connect()
    _ = try await events.wait(for: 2)
    second.disconnect()
    let all = try await events.wait(for: 3)
    #expect(
      all == [
        #"pusher:subscription_succeeded {"presence":{"count":1,"ids":["1"],"hash":{"1":{"name":"User 1"}}}}"#,
        #"pusher:member_added {"user_id":"2","user_info":{"name":"User 2"}}"#,
        #"pusher:member_removed {"user_id":"2","user_info":{"name":"User 2"}}"#,
      ])
  }

  @Test func `members are replaced on a reconnect, not appended`() async throws {
    let delegate = RecordingDelegate()
    let pusher = member("1", delegate)
    let channel = pusher.subscribeToPresenceChannel(named: "room")
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    await service.stop()
    let next = try service.successor()
    _ = try await delegate.subscribed.wait(for: 2)
    #expect(channel.members.map(\.userId) == ["1"])
    withExtendedLifetime(next) {}
  }

  @Test func `without a userDataFetcher the socket's id is the user's`() async throws {
    let delegate = RecordingDelegate()
    let pusher = service.signingPusher()
    pusher.delegate = delegate
    let channel = pusher.subscribeToPresenceChannel(named: "room")
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    #expect(channel.myId == pusher.connection.socketId)
  }
}

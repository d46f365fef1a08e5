import PusherCore
import PusherServer
import TestSupport
import Testing

/// The Swift blocks that the READMEs of PusherSwift (7.x) and EventflitSwift share except for
/// names.
///
/// Each is compiled and run with each service's names, against a server that knows no others.
///
/// A comment explains each change to a block.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `The READMEs of PusherSwift and EventflitSwift`
{
  let printed = Gathered<String>()
  static let services = [PusherService.pusher, .eventflit]

  private static func start(_ service: PusherService) throws -> (LocalService, Pusher) {
    let server = try LocalService { $0.service = service }
    return (server, server.signingPusher())
  }

  @Test(arguments: services) func `the userDataFetcher`(service: PusherService) async throws {
    let (server, pusher) = try Self.start(service)

    pusher.connection.userDataFetcher = { () -> PusherPresenceChannelMember in
      PusherPresenceChannelMember(userId: "123", userInfo: ["twitter": "hamchapman"])
    }
    let delegate = RecordingDelegate()
    pusher.connection.delegate = delegate
    let channel = pusher.subscribeToPresenceChannel(channelName: "presence-a")
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    #expect(
      channel.me()
        == PusherPresenceChannelMember(
          userId: "123", userInfo: ["twitter": "hamchapman"]))
    #expect(channel.myId == "123")
    withExtendedLifetime(server) {}
  }

  @Test(arguments: services)
  func `subscribing to public, private and presence channels`(service: PusherService) async throws {
    let (server, pusher) = try Self.start(service)
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    let myChannel = pusher.subscribe("my-channel")
    let myPrivateChannel = pusher.subscribe("private-my-channel")
    let myPresenceChannel = pusher.subscribeToPresenceChannel(
      channelName: "presence-my-channel")
    let myOtherPresenceChannel = pusher.subscribe("presence-my-channel")
    _ = try await delegate.subscribed.wait(for: 3)
    #expect(myChannel.isSubscribed && myPrivateChannel.isSubscribed)
    #expect(myPresenceChannel.memberCount == 1)
    #expect(myOtherPresenceChannel === myPresenceChannel)
    // "unless you choose to cast the channel object":
    #expect((myOtherPresenceChannel as? PusherPresenceChannel)?.members.count == 1)
    withExtendedLifetime(server) {}
  }

  @Test(arguments: services) func `functions for members`(service: PusherService) async throws {
    let (server, pusher) = try Self.start(service)
    let printed = printed
    let onMemberChange = { @Sendable (member: PusherPresenceChannelMember) in
      printed.add("\(member)")
    }

    let delegate = RecordingDelegate(of: pusher)
    let chan = pusher.subscribeToPresenceChannel(
      channelName: "presence-channel", onMemberAdded: onMemberChange,
      onMemberRemoved: onMemberChange)
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    do {
      let other = server.signingPusher()
      other.subscribe("presence-channel")
      other.connect()
      #expect(try await printed.wait().count == 1)
      #expect(chan.memberCount == 2)
      other.disconnect()
    }
    #expect(try await printed.wait(for: 2).count == 2)
    #expect(chan.memberCount == 1)
  }

  @Test(arguments: zip(services, ["pusher", "eventflit"]))
  func `binding to subscription_succeeded`(service: PusherService, prefix: String) async throws {
    let (server, pusher) = try Self.start(service)
    let printed = printed

    let chan = pusher.subscribeToPresenceChannel(channelName: "presence-channel")

    chan.bind(
      eventName: "\(prefix):subscription_succeeded",
      callback: { data in
        printed.add("Subscribed!")
        printed.add("I can now access myId: \(chan.myId ?? "no id")")
        printed.add("And here are the channel members: \(chan.members.map(\.userId))")
      })
    pusher.connect()
    let lines = try await printed.wait(for: 3)
    let id = try #require(pusher.connection.socketId)
    #expect(
      lines == [
        "Subscribed!", "I can now access myId: \(id)",
        "And here are the channel members: [\"\(id)\"]",
      ])
    withExtendedLifetime(server) {}
  }

  @Test(arguments: services)
  func `the delegate that looks for a presence channel`(service: PusherService) async throws {
    let (server, pusher) = try Self.start(service)
    // The pages hold the delegate only through the connection, whose reference is weak.
    let delegate = PresenceDelegate(printed) { [weak pusher] in pusher?.connection.channels }
    pusher.connection.delegate = delegate
    let chan = pusher.subscribeToPresenceChannel(channelName: "presence-channel")
    pusher.connect()
    #expect(try await printed.wait(for: 2).first == "1")
    #expect(printed.values.last == chan.myId)
    withExtendedLifetime(server) {}
  }
}

/// The request builder of both READMEs.
final class AuthRequestBuilder: AuthRequestBuilderProtocol {
  let url: String
  init(url: String) { self.url = url }
  func requestFor(socketID: String, channelName: String) -> AuthRequest? {
    var request = AuthRequest(url: url)
    request.httpMethod = "POST"
    // The pages use `channel.name`, but their function has no `channel`.
    request.httpBody = "socket_id=\(socketID)&channel_name=\(channelName)"
    request.addValue("myToken", forHTTPHeaderField: "Authorization")
    return request
  }
}

/// The `DummyDelegate` of both READMEs that looks for a presence channel.
final class PresenceDelegate: PusherDelegate {
  let printed: Gathered<String>
  // The pages use an undefined client. The reference is weak so that the client does not keep
  // itself alive.
  let channels: @Sendable () -> PusherChannels?
  init(_ printed: Gathered<String>, _ channels: @escaping @Sendable () -> PusherChannels?) {
    self.printed = printed
    self.channels = channels
  }
  // The pages use `subscriptionDidSucceed`, its name until 4.0, and an undefined `channelName`.
  func subscribedToChannel(name: String) {
    if name == "presence-channel" {
      if let presChan = channels()?.findPresence(name: name) {
        // in here you can now have access to the channel's members and myId properties
        printed.add("\(presChan.members.count)")
        printed.add(presChan.myId ?? "no id")
      }
    }
  }
}

/// A proxy that refuses every client and records the requested destination, so that no name is
/// resolved.
struct WatchingProxy {
  private let endpoint: LocalEndpoint

  init(_ options: inout PusherClientOptions) throws {
    endpoint = try LocalEndpoint { _ in (403, "") }
    options.network = PusherNetwork(proxy: "http://127.0.0.1:\(endpoint.port)")
    options.autoReconnect = false
  }

  func destination() async throws -> Substring? {
    let words = try await endpoint.requests.wait().first?.head.split(separator: " ")
    return words?.first == "CONNECT" ? words?[1] : nil
  }
}

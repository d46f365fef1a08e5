import PusherCore
import PusherServer
import TestSupport
import Testing

/// Every Swift block of EventflitSwift's README, in its order, compiled and run.
///
/// The page is PusherSwift's with the names changed. Here the classes keep the names of this library, and what is
/// Eventflit's own stands in a ``Service``: prefixes and hosts. What is mended in the blocks is told in the tests of
/// PusherSwift's README. Against a local server the blocks run with Pusher's names for things.
@Suite(.ownThread) struct `EventflitSwift's README` {
  /// Eventflit as data.
  private static let eventflit = Service(
    eventPrefix: "eventflit:", internalPrefix: "eventflit_internal:",
    clusterHost: "ws-CLUSTER.eventflit.com", clusterAPIHost: "api-CLUSTER.eventflit.com",
    defaultCluster: "mt1", protocolVersion: 7)

  let service: LocalService
  let printed = Gathered<String>()
  init() throws { service = try LocalService() }

  @Test func `options with a cluster, and with an endpoint`() {
    let options = PusherClientOptions(
      host: .cluster("eu"), service: Self.eventflit
    )
    #expect(options.service.host(cluster: "eu") == "ws-eu.eventflit.com")
    // The page's URL, `https://:9292/…`, has lost its host.
    let withEndpoint = PusherClientOptions(
      authMethod: .endpoint(authEndpoint: "http://localhost:9292/eventflit/auth")
    )
    let eventflit = Pusher(key: "APP_KEY", options: withEndpoint)
    #expect(eventflit.connection.options.authMethod.description == "endpoint")
  }

  @Test func `an authenticated channel by a request builder`() {
    final class AuthRequestBuilder: AuthRequestBuilderProtocol {
      func requestFor(socketID: String, channelName: String) -> AuthRequest? {
        var request = AuthRequest(url: "http://localhost:9292/builder")
        request.httpMethod = "POST"
        request.httpBody = "socket_id=\(socketID)&channel_name=\(channelName)"
        request.addValue("myToken", forHTTPHeaderField: "Authorization")
        return request
      }
    }
    let options = PusherClientOptions(
      authMethod: AuthMethod.authRequestBuilder(authRequestBuilder: AuthRequestBuilder())
    )
    let eventflit = Pusher(
      key: "APP_KEY",
      options: options
    )
    #expect(eventflit.connection.options.authMethod.description == "authRequestBuilder")
    let request = AuthRequestBuilder().requestFor(socketID: "1.2", channelName: "private-a")
    #expect(request?.value(forHTTPHeaderField: "authorization") == "myToken")
  }

  @Test func `connecting with a userDataFetcher and a delegate`() async throws {
    let eventflit = service.signingPusher()
    let delegate = RecordingDelegate()
    eventflit.connection.userDataFetcher = { () -> PusherPresenceChannelMember in
      PusherPresenceChannelMember(userId: "123", userInfo: ["twitter": "hamchapman"])
    }
    eventflit.connection.delegate = delegate
    let channel = eventflit.subscribeToPresenceChannel(channelName: "presence-a")
    eventflit.connect()
    _ = try await delegate.subscribed.wait()
    #expect(channel.myId == "123")
  }

  @Test func `subscribing to public, private and presence channels`() async throws {
    let eventflit = service.signingPusher()
    let delegate = RecordingDelegate()
    eventflit.delegate = delegate
    let myChannel = eventflit.subscribe("my-channel")
    let myPrivateChannel = eventflit.subscribe("private-my-channel")
    let myPresenceChannel = eventflit.subscribeToPresenceChannel(
      channelName: "presence-my-channel")
    #expect(eventflit.subscribe("presence-my-channel") === myPresenceChannel)
    eventflit.connect()
    _ = try await delegate.subscribed.wait(for: 3)
    #expect(myChannel.isSubscribed && myPrivateChannel.isSubscribed)
  }

  @Test func `functions for members`() async throws {
    let printed = printed
    let onMemberChange = { @Sendable (member: PusherPresenceChannelMember) in
      printed.add("\(member)")
    }
    let eventflit = service.signingPusher()
    let delegate = RecordingDelegate()
    eventflit.delegate = delegate
    let chan = eventflit.subscribeToPresenceChannel(
      channelName: "presence-channel", onMemberAdded: onMemberChange,
      onMemberRemoved: onMemberChange)
    eventflit.connect()
    _ = try await delegate.subscribed.wait()
    do {
      let other = service.signingPusher()
      let otherDelegate = RecordingDelegate()
      other.delegate = otherDelegate
      other.subscribe("presence-channel")
      other.connect()
      _ = try await otherDelegate.subscribed.wait()
    }
    #expect(try await printed.wait(for: 2).count == 2)
    #expect(chan.memberCount == 1)
  }

  @Test func `binding to subscription_succeeded under the service's name`() async throws {
    // A service whose public prefix is Eventflit's, on a server that speaks Pusher's internal names: what the client
    // shows its handlers follows the service.
    let eventflit = service.signingPusher()
    let printed = printed
    let prefix = eventflit.connection.options.service.eventPrefix
    let chan = eventflit.subscribeToPresenceChannel(channelName: "presence-channel")
    chan.bind(
      eventName: prefix + "subscription_succeeded",
      callback: { data in
        printed.add("Subscribed!")
        printed.add("I can now access myId: \(chan.myId ?? "no id")")
        printed.add("And here are the channel members: \(chan.members)")
      })
    eventflit.connect()
    #expect(try await printed.wait(for: 3).first == "Subscribed!")
  }

  @Test func `the delegate that looks for a presence channel`() async throws {
    final class DummyDelegate: PusherDelegate {
      let printed: Gathered<String>
      let channels: @Sendable () -> PusherChannels?
      init(_ printed: Gathered<String>, _ channels: @escaping @Sendable () -> PusherChannels?) {
        self.printed = printed
        self.channels = channels
      }
      func subscribedToChannel(name: String) {
        if name == "presence-channel" {
          if let presChan = channels()?.findPresence(name: name) {
            printed.add("\(presChan.members.count)")
            printed.add(presChan.myId ?? "no id")
          }
        }
      }
    }
    let eventflit = service.signingPusher()
    let delegate = DummyDelegate(printed) { [weak eventflit] in eventflit?.connection.channels }
    eventflit.connection.delegate = delegate
    let chan = eventflit.subscribeToPresenceChannel(channelName: "presence-channel")
    eventflit.connect()
    #expect(try await printed.wait(for: 2) == ["1", chan.myId])
  }
}

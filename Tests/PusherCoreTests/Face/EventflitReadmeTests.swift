import PusherCore
import PusherServer
import TestSupport
import Testing

/// Every Swift block of EventflitSwift's README, in its order, compiled and run.
///
/// The page is PusherSwift's with the names changed. Here the classes keep the names of this library, and what is
/// Eventflit's own stands in a ``Service``: prefixes, hosts and paths. What is mended in the blocks is told in the tests of
/// PusherSwift's README. The local server speaks Eventflit's names, and knows none of Pusher's.
@Suite(.ownThread) struct `EventflitSwift's README` {
  let service: LocalService
  let printed = Gathered<String>()
  init() throws { service = try LocalService { $0.service = .eventflit } }

  @Test func `Eventflit's cluster is where the client goes`() async throws {
    var options = PusherClientOptions(
      host: .cluster("eu"), service: .eventflit
    )
    let proxy = try LocalEndpoint { _ in (403, "") }
    options.network = PusherNetwork(proxy: "http://127.0.0.1:\(proxy.port)")
    options.autoReconnect = false
    let eventflit = Pusher(key: "APP_KEY", options: options)
    eventflit.connect()
    let head = try await proxy.requests.wait().first?.head
    #expect(head?.hasPrefix("CONNECT ws-eu.eventflit.com:443 HTTP/1.1\r\n") == true)
  }

  @Test func `Eventflit's endpoint is asked at its own path`() async throws {
    let endpoint = try LocalEndpoint { _ in (403, "") }
    // The page's URL, `https://:9292/eventflit/auth`, has lost its host; the path is the service's own.
    let options = service.options(
      .endpoint(authEndpoint: "http://127.0.0.1:\(endpoint.port)")
    )
    let eventflit = Pusher(key: Application.forTests().key, options: options)
    eventflit.subscribe("private-a")
    eventflit.connect()
    let head = try await endpoint.requests.wait().first?.head
    #expect(head?.hasPrefix("POST /eventflit/auth HTTP/1.1\r\n") == true)
  }

  @Test func `an authenticated channel by a request builder`() async throws {
    final class AuthRequestBuilder: AuthRequestBuilderProtocol {
      let url: String
      init(url: String) { self.url = url }
      func requestFor(socketID: String, channelName: String) -> AuthRequest? {
        var request = AuthRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = "socket_id=\(socketID)&channel_name=\(channelName)"
        request.addValue("myToken", forHTTPHeaderField: "Authorization")
        return request
      }
    }
    let endpoint = try LocalEndpoint { _ in (403, "") }
    let options = service.options(
      AuthMethod.authRequestBuilder(authRequestBuilder: AuthRequestBuilder(url: endpoint.url))
    )
    let eventflit = Pusher(
      key: Application.forTests().key,
      options: options
    )
    eventflit.subscribe("private-a")
    eventflit.connect()
    let request = try #require(try await endpoint.requests.wait().first)
    #expect(request.head.contains("\r\nAuthorization: myToken"))
    #expect(request.form["channel_name"] == "private-a")
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
    let eventflit = service.signingPusher()
    let printed = printed
    let chan = eventflit.subscribeToPresenceChannel(channelName: "presence-channel")
    chan.bind(
      eventName: "eventflit:subscription_succeeded",
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

import PusherServer
import TestSupport
import Testing

@testable import PusherCore

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Today's Channels in a client` {
  let delegate = RecordingDelegate()

  private func key(_ byte: UInt8 = 7) throws -> EncryptionMasterKey {
    try EncryptionMasterKey(base64: Base64.encode([UInt8](repeating: byte, count: 32)))
  }

  @Test func `inline with a master key reads encrypted channels`() async throws {
    let service = try LocalService()
    let key = try key()
    let pusher = service.signingPusher(delegate: delegate) { $0.encryptionMasterKey = key }
    let data = Gathered<String?>()
    pusher.subscribe("private-encrypted-a").bind(eventName: "e") { data.add($0.data) }
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    let api = service.api(key: key)
    try await api.trigger("e", channels: ["private-encrypted-a"], data: #"{"n":1}"#)
    try await api.triggerBatch([.init("e", channel: "private-encrypted-a", data: "two")])
    #expect(try await data.wait(for: 2) == [#"{"n":1}"#, "two"])
    try await service.api(key: try self.key(8))
      .trigger("e", channels: ["private-encrypted-a"], data: "three")
    #expect(
      try await delegate.undecrypted.wait().first?.hasPrefix("private-encrypted-a e ") == true)
  }

  @Test func `neither a secret nor a master key stands in a dump or a description`() throws {
    let method = AuthMethod.inline(secret: "hush")
    let network = PusherNetwork(proxy: "http://u:hush@h", environment: ["A": "hush"])
    var dumped = "\(method)"
    dump(
      PusherClientOptions(
        authMethod: method, encryptionMasterKey: try key(), network: network), to: &dumped)
    dump(PusherAPI(appID: "1", key: "k", secret: "hush"), to: &dumped)
    #expect(!dumped.contains("hush") && !dumped.contains("BwcH"))
  }

  @Test func `the subscription count is known to channel, handlers and delegate`() async throws {
    let service = try LocalService {
      var application = Application.forTests()
      application.sendsSubscriptionCounts = true
      $0.applications = [application]
    }
    let pusher = service.pusher(delegate: delegate)
    let events = Gathered<String?>()
    let told = Gathered<Int>()
    pusher.subscribe("a", onSubscriptionCountChanged: { _ in told.add(-1) })
    // The later handler replaces the earlier one.
    let channel = pusher.subscribe("a", onSubscriptionCountChanged: { told.add($0) })
    channel.bind(eventName: "pusher:subscription_count") { events.add($0.data) }
    #expect(channel.subscriptionCount == nil)
    pusher.connect()
    #expect(try await delegate.counts.wait() == ["a 1"])
    let other = service.pusher()
    other.subscribe("a")
    other.connect()
    #expect(try await delegate.counts.wait(for: 2) == ["a 1", "a 2"])
    #expect(channel.subscriptionCount == 2)
    #expect(try await events.wait(for: 2).last == #"{"subscription_count":2}"#)
    #expect(told.values == [1, 2])
  }

  @Test func `a cache channel without an event tells its handlers cache_miss`() async throws {
    let service = try LocalService()
    let pusher = service.pusher()
    let misses = Gathered<String?>()
    let own = Gathered<String>()
    pusher.bind(eventName: "pusher:cache_miss") { misses.add($0.channelName) }
    pusher.subscribe("cache-a").bind(eventName: "pusher:cache_miss") { own.add($0.eventName) }
    pusher.connect()
    #expect(try await own.wait() == ["pusher:cache_miss"])
    #expect(try await misses.wait() == ["cache-a"])
    try await service.trigger("e", "cache-a", #"{"n":1}"#)
    let late = service.pusher()
    let events = Gathered<String>()
    late.subscribe("cache-a").bind { events.add($0.eventName) }
    late.connect()
    try await events.wait { $0.contains("e") }
    #expect(!events.values.contains("pusher:cache_miss"))
  }

  @Test func `Eventflit is an option, and prefixes, host and paths follow`() async throws {
    let service = try LocalService { $0.service = .eventflit }
    let endpoint = try LocalEndpoint { _ in (403, "") }
    let place = "http://127.0.0.1:\(endpoint.port)"
    let pusher = service.pusher(.endpoint(authEndpoint: place), delegate: delegate) {
      $0.userAuthMethod = .endpoint(authEndpoint: place)
    }
    let events = Gathered<String>()
    pusher.bind { events.add($0.eventName) }
    pusher.subscribe("cache-a")
    pusher.subscribe("private-a")
    pusher.signIn()
    pusher.connect()
    _ = try await delegate.failed.wait()
    let heads = try await endpoint.requests.wait(for: 2).map(\.head)
    #expect(heads[0].hasPrefix("POST /eventflit/user-auth HTTP/1.1\r\n"))
    #expect(heads[1].hasPrefix("POST /eventflit/auth HTTP/1.1\r\n"))
    try await events.wait { $0.contains("eventflit:cache_miss") }
    #expect(events.values.contains("eventflit:subscription_succeeded"))
    #expect(events.values.allSatisfy { $0.hasPrefix("eventflit:") })
    let whole = try PusherClientOptions(service: .eventflit).destination(key: "k")
    #expect(whole.url.host == "service.eventflit.com")
  }

  @Test func `Eventflit signs in, has members and counts like Pusher`() async throws {
    let service = try LocalService { $0.service = .eventflit }
    let pusher = service.signingPusher(delegate: delegate) {
      $0.userAuthMethod = .inline(secret: Application.forTests().secret, userData: ["id": "7"])
    }
    pusher.signIn()
    let channel = pusher.subscribeToPresenceChannel(named: "p")
    pusher.connect()
    #expect(try await delegate.signedIn.wait() == [#"7 {"id":"7"}"#])
    _ = try await delegate.subscribed.wait()
    #expect(channel.memberCount == 1 && channel.me() != nil)
  }
}

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `What a client is told of the network` {
  @Test(arguments: [
    (PusherClientOptions(host: .host("127.0.0.1"), port: 9, useTLS: false), "127.0.0.1:9"),
    (PusherClientOptions(host: .cluster("eu")), "ws-eu.pusher.com:443"),
    (PusherClientOptions(host: .cluster("eu"), service: .eventflit), "ws-eu.eventflit.com:443"),
  ])
  func `a proxy is asked for the service, and a refusal is told`(
    options: PusherClientOptions, destination: String
  ) async throws {
    let proxy = try LocalEndpoint { _ in (403, "") }
    var options = options
    options.network = PusherNetwork(proxy: "http://127.0.0.1:\(proxy.port)")
    options.autoReconnect = false
    let pusher = Pusher(key: "APP_KEY", options: options)
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    _ = try await delegate.connectFailures.wait()
    let head = try await proxy.requests.wait().first?.head
    #expect(head?.hasPrefix("CONNECT \(destination) HTTP/1.1\r\n") == true)
  }

  @Test func `the environment that is given names proxies, exceptions and authorities`() throws {
    let environment = [
      "HTTPS_PROXY": "http://a:1", "http_proxy": "http://b:2", "ALL_PROXY": "socks5h://c:3",
      "NO_PROXY": "d", "SSL_CERT_FILE": "/f", "SSL_CERT_DIR": "/d",
    ]
    let options = PusherClientOptions(network: PusherNetwork(environment: environment))
    let destination = try options.destination(key: "k")
    #expect(destination.routing.secureProxy?.host == "a")
    #expect(destination.routing.plainProxy?.host == "b")
    #expect(destination.routing.exceptions.contains(host: "d", port: 1))
    #expect(
      destination.trust
        == TLSEnvironment(certificateFile: "/f", certificateDirectories: "/d"))
    var none = options
    none.network.proxy = ""
    #expect(try none.destination(key: "k").routing.secureProxy == nil)
    let plain = try PusherClientOptions().destination(key: "k")
    #expect(plain.routing == Routing() && plain.trust == TLSEnvironment())
    let stranger = PusherNetwork(environment: ["REQUEST_METHOD": "GET", "HTTP_PROXY": "http://x"])
    #expect(try stranger.routing().plainProxy == nil)
  }

  @Test func `a proxy that is none is told without its text`() throws {
    let options = PusherClientOptions(network: PusherNetwork(proxy: "ftp://hush"))
    #expect {
      try options.destination(key: "k")
    } throws: { error in
      guard case PusherConfigurationError.invalidProxy(let reason) = error else { return false }
      return !reason.contains("hush")
    }
  }
}

import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Client options` {
  let service: LocalService
  init() throws { service = try LocalService() }

  private func failure(_ options: PusherClientOptions, key: String = "k") async throws
    -> PusherConfigurationError?
  {
    let delegate = RecordingDelegate()
    let pusher = Pusher(key: key, options: options)
    pusher.delegate = delegate
    pusher.connect()
    let failures = try await delegate.connectFailures.wait()
    #expect(failures.map(\.willRetry) == [false])
    #expect(pusher.connection.connectionState == .disconnected)
    return failures.first?.error as? PusherConfigurationError
  }

  @Test func `the PusherClientOptions value has PusherSwift's defaults`() {
    let options = PusherClientOptions()
    #expect(options.authMethod.description == "noMethod")
    #expect(options.attemptToReturnJSONObject)
    #expect(options.autoReconnect)
    #expect(options.useTLS)
    #expect(options.host == nil && options.port == nil && options.path == nil)
    #expect(options.activityTimeout == nil)
  }

  @Test func `defaultHost is where options without a host lead, and hosts tell their names`() throws
  {
    let named = Pusher(key: "k", options: PusherClientOptions(host: .defaultHost))
    let unnamed = Pusher(key: "k", options: PusherClientOptions())
    #expect(named.connection.url == unnamed.connection.url && named.connection.url != nil)
    #expect(PusherHost.defaultHost.stringValue == "ws-mt1.pusher.com")
    #expect(PusherHost.cluster("eu").stringValue == "ws-eu.pusher.com")
    #expect(PusherHost.host("localhost").stringValue == "localhost")
  }

  @Test func `encrypted is another name of useTLS`() {
    var options = PusherClientOptions()
    options.encrypted = false
    #expect(!options.useTLS)
  }

  @Test func `a secret stands in no description and no dump`() {
    let method = AuthMethod.inline(secret: "hush")
    var dumped = ""
    dump(PusherClientOptions(authMethod: method), to: &dumped)
    #expect(!dumped.contains("hush") && !"\(method)".contains("hush"))
  }

  @Test func `a cluster that does not exist is a failure to connect, not to configure`()
    async throws
  {
    let options = PusherClientOptions(
      autoReconnect: false, host: .cluster("no such cluster"))
    guard case .invalidHost(let host, _) = try await failure(options) else {
      Issue.record("another failure")
      return
    }
    #expect(host == "ws-no such cluster.pusher.com")
  }

  @Test(arguments: ["", "a/b", "user@host", "host:80", "host?x", "a b", "h#f"])
  func `a host that is more than a host is refused before anything is sent`(_ host: String)
    async throws
  {
    let failure = try await failure(PusherClientOptions(host: .host(host)))
    guard case .invalidHost(host, _) = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test(arguments: [0, -1, 65_536]) func `a port out of range is refused`(_ port: Int)
    async throws
  {
    #expect(try await failure(PusherClientOptions(port: port)) == .invalidPort(port))
  }

  @Test func `an empty key, a bad path and a timeout of nothing are refused`() async throws {
    #expect(try await failure(PusherClientOptions(), key: "") == .missingKey)
    #expect(try await failure(PusherClientOptions(path: "/a?b")) == .invalidPath("/a?b"))
    #expect(
      try await failure(PusherClientOptions(activityTimeout: .zero)) == .invalidTimeout(.zero))
  }

  @Test func `a file of authorities that is not there is told before anything is sent`()
    async throws
  {
    guard case .tls(let reason) = try await failure(PusherClientOptions(caFile: "/nowhere")) else {
      Issue.record("another failure")
      return
    }
    #expect(reason.contains("/nowhere"))
  }

  @Test func `activityTimeout asks a silent server for a sign of life, and a pong ends the wait`()
    async throws
  {
    var options = service.options()
    options.activityTimeout = .milliseconds(20)
    let pusher = Pusher(key: service.pusher().key, options: options)
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    // A second ping proves that the first was answered.
    try await delegate.logged.wait {
      $0.count { $0.hasPrefix("sent: ") && $0.contains("ping") } >= 2
    }
    #expect(delegate.disconnected.values.isEmpty)
  }

  @Test func `a pong that does not come within pongResponseTimeout ends the connection`()
    async throws
  {
    let server = try RawServer { peer in
      RawServer.greet(peer)
      peer.waitForEnd()
    }
    var options = PusherClientOptions(
      autoReconnect: false, host: .host("127.0.0.1"), port: server.port, useTLS: false)
    options.activityTimeout = .milliseconds(20)
    let pusher = Pusher(key: "k", options: options)
    let delegate = RecordingDelegate(of: pusher)
    pusher.connection.pongResponseTimeout = .milliseconds(30)
    #expect(pusher.connection.pongResponseTimeout == .milliseconds(30))
    pusher.connect()
    let ends = try await delegate.disconnected.wait()
    #expect(ends.first?.error == .noPong(.milliseconds(30)))
  }

  @Test func `a client speaks TLS unless useTLS is off`() async throws {
    let first = Gathered<UInt8?>()
    let server = try RawServer { first.add($0.receive().first) }
    for useTLS in [nil, false] {
      var options = PusherClientOptions(
        autoReconnect: false, host: .host("127.0.0.1"), port: server.port)
      if let useTLS { options.useTLS = useTLS }
      let delegate = RecordingDelegate()
      let pusher = Pusher(key: "k", options: options)
      pusher.delegate = delegate
      pusher.connect()
      _ = try await delegate.connectFailures.wait()
    }
    // The content type of a TLS handshake (RFC 8446 section 5.1), and the G of GET.
    #expect(try await first.wait(for: 2) == [22, UInt8(ascii: "G")])
  }

  @Test func `compression is offered, and an event that comes compressed is read`() async throws {
    let offers = Gathered<Bool>()
    let server = try RawServer { peer in
      let head = RawServer.greet(peer, extensions: "permessage-deflate; server_no_context_takeover")
      offers.add(head.contains("\r\nSec-WebSocket-Extensions: permessage-deflate"))
      let text =
        #"{"event":"e","channel":"a","data":"{\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"}"#
      let output = ByteBuffer()
      Array(text.utf8).withUnsafeBytes { Deflater(windowBits: 15).deflate($0, into: output) }
      // The first message is the subscription; the client has bound its handlers by then.
      _ = peer.receive()
      peer.send(frame(.text, output.array, isCompressed: true))
      peer.waitForEnd()
    }
    let options = PusherClientOptions(
      host: .host("127.0.0.1"), port: server.port, useTLS: false)
    let pusher = Pusher(key: "k", options: options)
    let data = Gathered<String?>()
    pusher.subscribe("a").bind(eventName: "e") { data.add($0.data) }
    pusher.connect()
    #expect(try await data.wait() == [#"{"text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#])
    #expect(offers.values == [true])
  }

  @Test func `attemptToReturnJSONObject off hands data as text to callbacks`() async throws {
    var options = service.options()
    options.attemptToReturnJSONObject = false
    let pusher = Pusher(key: service.pusher().key, options: options)
    let delegate = RecordingDelegate(of: pusher)
    let values = Gathered<JSONValue?>()
    pusher.subscribe("a").bind(eventName: "e", callback: { values.add($0) })
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    try await service.trigger("e", "a", #"{"n":1}"#)
    #expect(try await values.wait() == [.string(#"{"n":1}"#)])
  }
}

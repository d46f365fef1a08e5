import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Client options` {
  let service: LocalService
  init() throws { service = try LocalService() }

  @Test func `the PusherClientOptions value has PusherSwift's defaults`() {
    let options = PusherClientOptions()
    #expect(options.authMethod.description == "noMethod")
    #expect(options.attemptToReturnJSONObject && options.autoReconnect && options.useTLS)
    #expect(options.host == nil && options.port == nil && options.path == nil)
    #expect(options.activityTimeout == nil)
  }

  @Test func `options without a host lead to defaultHost, and hosts have names`() throws {
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

  private static let impossible: [(PusherClientOptions, String)] =
    ["", "a/b", "user@host", "host:80", "host?x", "a b", "h#f"].map { (host: String) in
      (PusherClientOptions(host: .host(host)), "'\(host)' is not a host")
    }
    + [0, -1, 65_536].map { (port: Int) in
      (PusherClientOptions(port: port), "\(port) is not a port")
    }

  @Test(
    arguments: impossible.map { ("k", $0.0, $0.1) } + [
      (
        "k", PusherClientOptions(autoReconnect: false, host: .cluster("no such cluster")),
        "'ws-no such cluster.pusher.com' is not a host"
      ),
      ("", PusherClientOptions(), "the app's key is empty"),
      ("k", PusherClientOptions(path: "/a?b"), "'/a?b' is not a URL path"),
      ("k", PusherClientOptions(activityTimeout: .zero), "invalid timeout: 0"),
      ("k", PusherClientOptions(caFile: "/nowhere"), "/nowhere"),
    ])
  func `options that cannot work are refused before anything is sent`(
    key: String, options: PusherClientOptions, message: String
  ) async throws {
    let pusher = Pusher(key: key, options: options)
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    let failures = try await delegate.connectFailures.wait()
    #expect(failures.map(\.willRetry) == [false])
    #expect(pusher.connection.connectionState == .disconnected)
    let error = try #require(failures.first?.error as? PusherConfigurationError)
    #expect("\(error)".contains(message))
  }

  @Test func `activityTimeout pings a silent server, and a pong ends the wait`() async throws {
    let pusher = service.pusher { $0.activityTimeout = .milliseconds(20) }
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    // A second ping proves that the first was answered.
    try await delegate.logged.wait {
      $0.count { $0.hasPrefix("sent: ") && $0.contains("ping") } >= 2
    }
    #expect(delegate.disconnected.values.isEmpty)
  }

  @Test func `no pong within pongResponseTimeout ends the connection`() async throws {
    let server = try RawServer.greeting()
    let pusher = Pusher.local(server.port) {
      $0.autoReconnect = false
      $0.activityTimeout = .milliseconds(20)
    }
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
      let pusher = Pusher(key: "k", options: options)
      let delegate = RecordingDelegate(of: pusher)
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
    let pusher = Pusher.local(server.port)
    let data = Gathered<String?>()
    pusher.subscribe("a").bind(eventName: "e") { data.add($0.data) }
    pusher.connect()
    #expect(try await data.wait() == [#"{"text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#])
    #expect(offers.values == [true])
  }

  @Test func `attemptToReturnJSONObject off hands data as text to callbacks`() async throws {
    let pusher = service.pusher { $0.attemptToReturnJSONObject = false }
    let values = Gathered<JSONValue?>()
    pusher.subscribe("a").bind(eventName: "e", callback: { values.add($0) })
    try await pusher.joined()
    try await service.trigger("e", "a", #"{"n":1}"#)
    #expect(try await values.wait() == [.string(#"{"n":1}"#)])
  }
}

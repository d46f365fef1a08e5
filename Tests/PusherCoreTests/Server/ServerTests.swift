import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite(.ownThread) struct `The server over loopback` {
  @Test func `events of the API reach public, private and presence subscribers in order`() throws {
    let test = try ServerHarness()
    let socket = try test.established()
    socket.subscribe("news")
    socket.subscribe("private-a")
    socket.subscribe("presence-a", channelData: #"{"user_id":"7"}"#)
    #expect(test.run { socket.texts.count == 3 })
    let publisher = test.raw()
    let channels = ["news", "private-a", "presence-a"]
    // One connection sends all requests at once; answers and deliveries keep the order.
    for index in 0..<50 { publisher.send(try test.call("e", channels, data: "\(index)")) }
    #expect(test.run { socket.texts.count == 153 })
    let expected = (0..<50).flatMap { index in
      channels.map { #"{"event":"e","channel":"\#($0)","data":"\#(index)"}"# }
    }
    #expect(Array(socket.texts.dropFirst(3)) == expected)
    #expect(test.run { publisher.text.pieces(separatedBy: "HTTP/1.1 200 OK").count == 51 })
    #expect(!publisher.hasEnded)
    #expect(test.events.count { if case .event = $0 { true } else { false } } == 150)
    #expect(test.events.count { if case .request(_, _, 200, _) = $0 { true } else { false } } == 50)
  }

  @Test(arguments: [
    ("/app/nobody?protocol=7", UInt16(4001)), ("/nowhere", 4005),
    ("/app/278d425bdf160c739803?protocol=9", 4007),
  ])
  func `a refused socket gets an error event, then a close frame with code and reason`(
    target: String, code: UInt16
  ) throws {
    let test = try ServerHarness()
    let socket = try test.socket(target)
    #expect(test.run { socket.hasEnded })
    #expect(socket.received.count == 2)
    guard case .text(let text)? = socket.received.first,
      case .closed(code, let reason)? = socket.received.last
    else {
      Issue.record("\(socket.received)")
      return
    }
    #expect(text.hasPrefix(#"{"event":"pusher:error","data":{"code":\#(code),"message":"#))
    #expect(!reason.isEmpty)
  }

  @Test(arguments: [
    ("NONSENSE\r\n\r\n", 400),
    ("POST /apps/3/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\nxxx", 413),
    (ServerHarness.upgrade("GET /app/k").replacing("Version: 13", with: "Version: 8"), 426),
    ("GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 66_000), 431),
  ])
  func `a bad request is answered and ends the connection`(request: String, status: Int) throws {
    #expect(try ServerHarness().answer(to: request).hasPrefix("HTTP/1.1 \(status) "))
  }

  @Test func `a head that never ends is given up`() throws {
    let test = try ServerHarness { $0.limits.times.request = .milliseconds(10) }
    let client = test.raw("GET / HTTP/1.1\r\nHos")
    #expect(test.run { client.text.hasPrefix("HTTP/1.1 408 ") })
  }

  @Test func `with a certificate the server speaks TLS`() throws {
    let test = try ServerHarness(isSecure: true)
    _ = try test.established(tls: ServerHarness.trust())
    // The server drops a client that speaks plain HTTP and keeps the others.
    _ = test.answer(to: ServerHarness.request("GET /"))
    #expect(test.server.connectionCount == 1)
    #expect(throws: TransportError.self) {
      try ServerHarness { $0.certificate = CertificateFiles("/nonexistent.pem") }
    }
  }

  @Test func `a client that speaks TLS to a plain port is let go at once`() throws {
    #expect(try ServerHarness().answer(to: "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}").isEmpty)
  }

  @Test func `a client may compress when the server allows it`() throws {
    let test = try ServerHarness { $0.acceptsCompression = true }
    let socket = try test.established()
    #expect(socket.isCompressed)
    socket.subscribe("private-a")
    #expect(test.run { socket.texts.count == 1 })
    let publisher = test.raw()
    publisher.send(try test.call("e", ["private-a"], data: String(repeating: "x", count: 5000)))
    #expect(test.run { socket.texts.count == 2 })
    // The answer is plain text.
    let offer = ["Host: localhost", "Sec-WebSocket-Extensions: permessage-deflate"]
    let raw = test.raw(ServerHarness.upgrade(ServerHarness.socketLine, offer))
    #expect(test.run { raw.text.contains("pusher:connection_established") })
    #expect(raw.text.contains("Sec-WebSocket-Extensions: permessage-deflate\r\n"))
    #expect(try !ServerHarness().established().isCompressed)
  }

  @Test func `at the end sockets are closed with 4200 and nobody is let in`() throws {
    let test = try ServerHarness()
    let socket = try test.established()
    let idle = test.raw(ServerHarness.request("GET /"))
    #expect(test.run { idle.text.contains("404") })
    #expect(test.stop() && test.run { socket.hasEnded && idle.hasEnded })
    #expect(socket.received.last == .closed(4200, "the server is shutting down"))
    _ = test.answer(to: "")
  }

  @Test func `a connection that was made before the end is answered, and then ends`() throws {
    let test = try ServerHarness()
    let (call, socket, silent) = (test.raw(), test.raw(), test.raw())
    #expect(test.run { [call, socket, silent].allSatisfy(\.isOpen) })
    var isStopped = false
    test.server.stop(patience: .seconds(1)) { isStopped = true }
    call.send(Array(ServerHarness.request("GET /").utf8))
    socket.send(Array(ServerHarness.upgrade().utf8))
    #expect(test.run { call.hasEnded && socket.text.contains("the server is shutting down") })
    #expect(call.text.hasPrefix("HTTP/1.1 404 ") && call.text.contains("Connection: close\r\n"))
    socket.close()
    #expect(test.run { isStopped && silent.hasEnded })
    #expect(silent.text == "")
  }
}

/// Calls of the HTTP API whose answers come from other nodes.
@Suite("HTTP API, answers that come later", .ownThread, .timeLimit(.minutes(10)))
struct WaitingCallTests {
  /// A member that answers a call only when a socket subscribes.
  private final class LateMember: ClusterMember {
    var node: NodeRecord
    private var waiting: [Int] = []

    init(_ setup: AppSetup) { node = NodeRecord(setup) }

    var connectionCount: Int { 0 }
    var isDeserted: Bool { true }
    var channelCount: Int { 0 }
    var isAvailable: Bool { true }
    func isOccupied(_ channel: String) -> Bool { false }

    func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
      switch question {
      case .admit: return .answered(.admitted)
      case .published:
        waiting.append(waiting.count + 1)
        return .later(waiting.count)
      case .join(let request):
        for number in waiting { node.add(.answer(number, .published)) }
        waiting = []
        return .answered(.joined(Joined(request, members: nil, cached: nil)))
      default: return .answered(.unavailable)
      }
    }

    func leave(_ channel: String, userID: String?, at now: Instant) {}
    func signOut(_ userID: String, at now: Instant) {}
    func terminate(userID: String, at now: Instant) -> Bool { true }
    func publish(_ event: ChannelEvent, at now: Instant) -> Publication { .everywhere }
    func tick(at now: Instant) {}
  }

  private final class LateCluster: Cluster {
    var failure: String? { nil }
    var isSettled: Bool { true }
    var hasResigned: Bool { true }
    func place(for setup: AppSetup) -> any ClusterMember { LateMember(setup) }
    func giveUp(_ place: any ClusterMember) {}
    func flush(at now: Instant) {}
    func takeLog() -> [ServerLogEvent] { [] }
    func resign(at now: Instant) {}
    func close() {}
  }

  @Test func `an answer that a client's message brings reaches the call that waits`() throws {
    let test = try ServerHarness(cluster: LateCluster())
    let caller = test.raw()
    caller.send(try test.call("e", ["c"], data: "1"))
    let socket = try test.established()
    test.goRound()
    #expect(caller.text.isEmpty)
    socket.subscribe("news")
    #expect(test.run { caller.text.hasPrefix("HTTP/1.1 200 ") }, "\(caller.text)")
  }
}

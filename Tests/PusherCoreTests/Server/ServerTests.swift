import PusherCore
import PusherServer
import Testing

@Suite("The server over loopback")
struct ServerTests {
  @Test func `events of the API reach public, private and presence subscribers in order`() throws {
    let test = try ServerHarness()
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe("news")
    socket.subscribe("private-a")
    socket.subscribe("presence-a", channelData: #"{"user_id":"7"}"#)
    #expect(test.run { socket.texts.count == 3 })
    let publisher = test.raw()
    // One connection sends all requests at once; answers and deliveries keep the order.
    for index in 0..<50 {
      let channels = ["news", "private-a", "presence-a"]
      publisher.send(try test.call("e", channels, data: "\(index)"))
    }
    #expect(test.run { socket.texts.count == 153 })
    let expected = (0..<50).flatMap { index in
      ["news", "private-a", "presence-a"].map {
        #"{"event":"e","channel":"\#($0)","data":"\#(index)"}"#
      }
    }
    #expect(Array(socket.texts.dropFirst(3)) == expected)
    #expect(test.run { publisher.text.components(of: "HTTP/1.1 200 OK") == 50 })
    #expect(!publisher.hasEnded)
    let kinds = test.events.map { event in
      if case .event = event { 1 } else if case .request(_, _, 200, _) = event { 2 } else { 0 }
    }
    #expect(kinds.count { $0 == 1 } == 150)
    #expect(kinds.count { $0 == 2 } == 50)
  }

  @Test func `a wrong signature and a stale timestamp are refused and change nothing`() throws {
    let test = try ServerHarness()
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe("private-a", secret: "wrong")
    #expect(test.run { socket.texts.count == 1 })
    #expect(socket.texts[0].contains("Invalid signature: Expected HMAC SHA256 hex digest of"))
    socket.subscribe("news")
    #expect(test.run { socket.texts.count == 2 })
    let publisher = test.raw()
    publisher.send(try test.call("e", ["news"], data: "1", secret: "wrong"))
    publisher.send(try test.call("e", ["news"], data: "2", age: 700))
    publisher.send(try test.call("e", ["news"], data: "3"))
    #expect(test.run { publisher.text.contains("200 OK") && socket.texts.count == 3 })
    #expect(publisher.text.components(of: "401 Unauthorized") == 2)
    #expect(publisher.text.contains("Timestamp expired"))
    #expect(socket.texts[2] == #"{"event":"e","channel":"news","data":"3"}"#)
  }

  @Test func `a client that does not read is dropped while another gets everything`() throws {
    let test = try ServerHarness { $0.limits.sizes.outputQueue = 100_000 }
    let slow = try test.socket()
    let fast = try test.socket()
    #expect(test.run { slow.isEstablished && fast.isEstablished })
    slow.subscribe("news")
    fast.subscribe("news")
    #expect(test.run { slow.texts.count == 1 && fast.texts.count == 1 })
    slow.reads = false
    let publisher = test.raw()
    let data = String(repeating: "x", count: 10_000)
    var sent = 0
    // The system's buffers come on top of the server's queue.
    while test.server.connectionCount == 2 && sent < 5000 {
      for _ in 0..<20 { publisher.send(try test.call("e", ["news"], data: data)) }
      sent += 20
      let wanted = sent + 1
      #expect(test.run { fast.texts.count == wanted })
    }
    #expect(test.server.connectionCount == 1)
    #expect(sent < 5000)
    slow.reads = true
    #expect(test.run { slow.hasEnded })
    #expect(slow.received.last == .closed(4100, "the client left more than 100000 bytes unread"))
    publisher.send(try test.call("last", ["news"], data: ""))
    #expect(test.run { fast.texts.count == sent + 2 })
  }

  @Test(arguments: [
    ("/app/nobody?protocol=7", 4001), ("/nowhere", 4005),
    ("/app/278d425bdf160c739803?protocol=9", 4007),
  ])
  func `a refused socket gets an error event, then a close frame with the code`(
    target: String, code: Int
  ) throws {
    let test = try ServerHarness()
    let socket = try test.socket(target)
    #expect(test.run { socket.hasEnded })
    #expect(socket.received.count == 2)
    guard case .text(let text)? = socket.received.first,
      case .closed(let closeCode, _)? = socket.received.last
    else {
      Issue.record("\(socket.received)")
      return
    }
    #expect(text.hasPrefix(#"{"event":"pusher:error","data":{"code":\#(code),"message":"#))
    #expect(closeCode.map { Int($0) } == code)
  }

  @Test func `many sockets hear each other and a member leaves with its connection`() throws {
    let test = try ServerHarness()
    let sockets = try (0..<50).map { _ in try test.socket() }
    #expect(test.run { sockets.allSatisfy { $0.isEstablished } })
    #expect(Set(sockets.map { $0.socketID }).count == 50)
    for (index, socket) in sockets.enumerated() {
      socket.subscribe("presence-a", channelData: #"{"user_id":"\#(index)"}"#)
      #expect(test.run { !socket.texts.isEmpty })
    }
    // Each socket saw its own join and all later ones.
    #expect(test.run { sockets.enumerated().allSatisfy { $1.texts.count == 50 - $0 } })
    sockets[0].send(#"{"event":"client-x","channel":"presence-a","data":{}}"#)
    #expect(
      test.run { sockets.dropFirst().allSatisfy { $0.texts.last?.contains("client-x") == true } })
    sockets[0].close()
    #expect(
      test.run {
        sockets.dropFirst().allSatisfy { $0.texts.last?.contains("member_removed") == true }
      })
    #expect(test.server.connectionCount == 49)
  }

  @Test func `bad requests are answered and end the connection`() throws {
    let test = try ServerHarness()
    let malformed = test.raw("NONSENSE\r\n\r\n")
    let long = test.raw(
      "POST /apps/3/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\nxxx")
    let wrongVersion = test.raw(
      "GET /app/k HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 8\r\n\r\n")
    #expect(
      test.run {
        malformed.text.hasPrefix("HTTP/1.1 400 ") && long.text.hasPrefix("HTTP/1.1 413 ")
          && wrongVersion.text.hasPrefix("HTTP/1.1 426 ")
      })
    #expect(test.run { malformed.hasEnded && long.hasEnded && wrongVersion.hasEnded })
  }

  @Test func `a head that never ends is given up`() throws {
    let test = try ServerHarness { $0.limits.times.request = .milliseconds(10) }
    let client = test.raw("GET / HTTP/1.1\r\nHos")
    #expect(test.run { client.text.hasPrefix("HTTP/1.1 408 ") })
  }

  @Test func `with a certificate the server speaks TLS`() throws {
    let files = TestCertificates.shared
    let test = try ServerHarness {
      $0.certificate = CertificateFiles(
        files.certificate("localhost"), key: files.key("localhost"))
    }
    let context = try TLSContext.client(TLSConfiguration(caFile: files.authority))
    let socket = try test.socket(tls: context)
    #expect(test.run { socket.isEstablished })
    socket.subscribe("news")
    #expect(test.run { socket.texts.count == 1 })
    // The server drops a client that speaks plain HTTP and keeps the others.
    let plain = test.raw("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(test.run { plain.hasEnded })
    #expect(test.server.connectionCount == 1)
    #expect(throws: TransportError.self) {
      try ServerHarness { $0.certificate = CertificateFiles("/nonexistent.pem") }
    }
  }

  @Test func `a client that speaks TLS to a plain port is let go at once`() throws {
    let test = try ServerHarness()
    let client = test.raw("\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}")
    #expect(test.run { client.hasEnded })
    #expect(client.text.isEmpty)
  }

  @Test func `a client may compress when the server allows it`() throws {
    let test = try ServerHarness { $0.acceptsCompression = true }
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    #expect(socket.isCompressed)
    socket.subscribe("private-a")
    #expect(test.run { socket.texts.count == 1 })
    let publisher = test.raw()
    publisher.send(try test.call("e", ["private-a"], data: String(repeating: "x", count: 5000)))
    #expect(test.run { socket.texts.count == 2 })
    // The answer is plain text.
    let raw = test.raw(
      "GET /app/278d425bdf160c739803?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n"
        + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n")
    #expect(test.run { raw.text.contains("pusher:connection_established") })
    #expect(raw.text.contains("Sec-WebSocket-Extensions: permessage-deflate\r\n"))
    let plain = try ServerHarness()
    let other = try plain.socket()
    #expect(plain.run { other.isEstablished })
    #expect(!other.isCompressed)
  }

  @Test func `at the end sockets are closed with 4200 and nobody is let in`() throws {
    let test = try ServerHarness()
    let socket = try test.socket()
    let idle = test.raw("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(test.run { socket.isEstablished && idle.text.contains("404") })
    var isStopped = false
    test.server.stop { isStopped = true }
    #expect(test.run { isStopped && socket.hasEnded && idle.hasEnded })
    #expect(socket.received.last == .closed(4200, "the server is shutting down"))
    let late = test.raw()
    #expect(test.run { late.hasEnded })
  }

  @Test func `a connection that was made before the end is answered, and then ends`() throws {
    let test = try ServerHarness()
    let (call, socket, silent) = (test.raw(), test.raw(), test.raw())
    #expect(test.run { [call, socket, silent].allSatisfy(\.isOpen) })
    var isStopped = false
    test.server.stop(patience: .seconds(1)) { isStopped = true }
    call.send(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
    socket.send(
      Array(
        ("GET /app/278d425bdf160c739803?protocol=7 HTTP/1.1\r\nHost: localhost\r\n"
          + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
          + "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n").utf8))
    #expect(test.run { call.hasEnded && socket.text.contains("the server is shutting down") })
    #expect(call.text.hasPrefix("HTTP/1.1 404 ") && call.text.contains("Connection: close\r\n"))
    socket.close()
    #expect(test.run { isStopped && silent.hasEnded })
    #expect(silent.text == "")
  }
}

extension String {
  /// Returns the number of occurrences of a text.
  fileprivate func components(of text: String) -> Int {
    split(separator: text, omittingEmptySubsequences: false).count - 1
  }
}

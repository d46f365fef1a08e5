import PusherCore
import TestSupport
import Testing

/// TLS over memory alone: RFC 8446.
struct TLSEngineTests {
  private func read(_ engine: TLSEngine, atMost: Int = 1 << 20) throws(TLSError) -> [UInt8] {
    let buffer = ByteBuffer()
    while case .bytes = try engine.read(into: buffer, atMost: atMost) {}
    return buffer.array
  }

  @Test func `bytes arrive as they were sent, over many records`() throws {
    let pair = try TLSPair.established()
    let sent = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    pair.feedClient(try pair.ciphertext(ofServer: sent))
    #expect(try read(pair.client) == sent)
  }

  /// RFC 7301: servers that speak several protocols on one port choose by it.
  @Test func `a client offers http/1.1 and nothing else`() throws {
    let hello = try TLSPair.trusting().hello()
    let offer: [UInt8] = [0, 16, 0, 11, 0, 9, 8] + Array("http/1.1".utf8)
    #expect(hello.indices.contains { hello[$0...].starts(with: offer) })
  }

  @Test func `a handshake and data arrive one byte at a time`() throws {
    let pair = try TLSPair.trusting()
    try pair.continueHandshake(step: 1)
    var received: [UInt8] = []
    for byte in try pair.ciphertext(ofServer: [UInt8]("one byte at a time".utf8)) {
      pair.feedClient([byte])
      received += try read(pair.client)
    }
    #expect(String(decoding: received, as: UTF8.self) == "one byte at a time")
  }

  @Test func `a read gives no more than was asked for, and says that more waits`() throws {
    let pair = try TLSPair.established()
    pair.feedClient(try pair.ciphertext(ofServer: [UInt8](repeating: 7, count: 1000)))
    #expect(try pair.read(atMost: 600) == .bytes(600))
    #expect(!pair.client.needsInput)
    #expect(try pair.read(atMost: 600) == .bytes(400))
    #expect(pair.client.needsInput)
    #expect(try pair.read(atMost: 600) == .wouldBlock)
  }

  @Test func `the client's bytes arrive at the server`() throws {
    let pair = try TLSPair.established()
    let plain = buffer("hello")
    try pair.client.write(plaintext: plain.view)
    pair.carry(from: pair.client, to: pair.server)
    #expect(try read(pair.server) == [UInt8]("hello".utf8))
  }

  @Test func `an end after the closing alert is a clean one`() throws {
    let pair = try TLSPair.established()
    let last = try pair.ciphertext(ofServer: [1, 2, 3])
    pair.server.shutdown()
    pair.feedClient(last)
    pair.carry(from: pair.server, to: pair.client)
    pair.client.inputEnded()
    #expect(try pair.read() == .bytes(3))
    for _ in 0..<2 { #expect(try pair.read() == .end) }
  }

  @Test(arguments: [0, 1, 20])
  func `an end without the closing alert is told after the bytes before it`(cut: Int) throws {
    let pair = try TLSPair.established()
    pair.feedClient(try pair.ciphertext(ofServer: [1, 2, 3]))
    pair.feedClient(try pair.ciphertext(ofServer: [4, 5, 6]).prefix(cut))
    pair.client.inputEnded()
    #expect(try pair.read() == .bytes(3))
    for _ in 0..<2 { #expect(throws: TLSError.cutShort) { try pair.read() } }
  }

  @Test func `an end in the handshake is an error of the handshake`() throws {
    let pair = try TLSPair.trusting()
    #expect(try !pair.client.handshake())
    pair.client.inputEnded()
    #expect(throws: TLSError.handshakeClosed(reason: "the other side closed the connection")) {
      try pair.client.handshake()
    }
  }

  @Test func `a server that speaks HTTP is told apart from one that refuses`() throws {
    let pair = try TLSPair.trusting()
    #expect(try !pair.client.handshake())
    pair.feedClient("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
    let error = #expect(throws: TLSError.self) { try pair.client.handshake() }
    #expect(error?.description.contains("does not speak TLS on this port") == true)
  }

  @Test func `a server that chooses TLS 1.1 is refused`() throws {
    let pair = try TLSPair.trusting()
    #expect(try !pair.client.handshake())
    // ServerHello: version 3.2, a random value, no session, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, no
    // compression.
    let hello: [UInt8] =
      [0x02, 0, 0, 38, 0x03, 0x02] + [UInt8](repeating: 7, count: 32) + [0, 0xc0, 0x13, 0]
    pair.feedClient([0x16, 0x03, 0x02, 0, 42] + hello)
    let reason = "the other side does not support TLS 1.2 or newer (unsupported protocol)"
    #expect(throws: TLSError.handshake(reason: reason)) { try pair.client.handshake() }
  }

  @Test func `a changed byte fails the connection`() throws {
    let pair = try TLSPair.established()
    var record = try pair.ciphertext(ofServer: [1, 2, 3])
    record[record.count - 1] ^= 1
    pair.feedClient(record)
    #expect(throws: TLSError.self) { try pair.read() }
    let empty = ByteBuffer()
    #expect(throws: TLSError.self) { try pair.client.write(plaintext: empty.view) }
  }

  @Test(arguments: [("localhost", true), ("127.0.0.1", false)])
  func `a name is sent to the server, an address is not`(name: String, isSent: Bool) throws {
    let pair = try TLSPair(TLSConfiguration(caFile: TestCertificates.shared.authority), name: name)
    #expect(String(decoding: try pair.hello(), as: UTF8.self).contains(name) == isSent)
  }
}

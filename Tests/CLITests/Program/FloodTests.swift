import Foundation
import PusherCore
import TestSupport
import Testing

/// A peer repeats requests without reading the answers.
@Suite("Floods of questions", .serialized, .runsProgramsFirst) struct FloodTests {
  // Warnings of webhook listen would fill the pipe, which has no reader.
  @Test(
    .enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"),
    arguments: [["serve"], ["webhook", "listen", "--key", "k", "-q"]])
  func `requests whose answers nobody reads cost a server little`(command: [String]) throws {
    let file = TemporaryFolder.shared.file("flooded-port")
    let program = try PusherCLI.start(
      command + ["--listen", "127.0.0.1:0", "--port-file", file],
      environment: ["PUSHER_APP_SECRET": "s"])
    let client = try RawClient(try program.port(in: file))
    let request = "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    let requests = Array(String(repeating: request, count: 1500).utf8)
    let before = try #require(program.peakMemory)
    _ = try client.flood(requests, atMost: 32 << 20)
    let after = try #require(program.peakMemory)
    #expect(after - before < 8 << 10, "\(after - before) KiB")
    program.send(SIGKILL)
  }

  @Test func `of many pings that a server never reads on the latest is answered`() throws {
    let total = 150_000
    let pongs = Record<Int>()
    let read = Gate()
    let server = try ScriptedServer(receiveBuffer: 4096) { connection in
      try connection.join()
      let block = WebSocketConnection(
        role: .server, deflate: nil, random: SystemRandomNumberGenerator(), input: nil)
      for _ in 0..<1000 { block.send(text: #"{"event":"pusher:ping","data":{}}"#) }
      let bytes = block.output.view.array
      for _ in 0..<total / 1000 { try connection.send(bytes: bytes) }
      try connection.ping(Array("the last".utf8))
      try connection.send(event: "over", data: "{}")
      try connection.wait(for: read)
      var count = 0
      while true {
        switch try connection.event() {
        case .pong(Array("the last".utf8)):
          pongs.add(count)
          try connection.stay()
        case .pong, .text: count += 1
        case .closed: throw PeerLeft()
        }
      }
    }
    let program = try PusherCLI.subscribe(to: server, "news")
    #expect(try program.line(within: .seconds(180)).contains(#""event":"over""#))
    read.open()
    let count = try waitFor("the last ping is answered") { pongs.values.first }
    #expect((1..<total * 3 / 4).contains(count), "\(count) of \(total) were answered")
  }

  @Test(.needs(.certificates))
  func `new keys that a peer wants again and again without reading end the connection`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    let rig = try KeyFlood(certificates)
    #expect(
      rig.run()
        == .tls(
          .connection(
            reason: "the other side asks for new keys, but reads no answers; more than 256 KiB of "
              + "them wait")))
    #expect(rig.sent < KeyFlood.most)
  }
}

/// A stream over a socket pair, and a client that requests new keys and never reads.
private final class KeyFlood: SocketStreamDelegate {
  static let most = 100_000

  private(set) var sent = 0
  private let loop: EventLoop
  private var stream: SocketStream?
  private let client: TLSEngine
  private let descriptor: Int32
  private let pending = ByteBuffer()
  private let input = ByteBuffer()
  private var isSecure = false
  private var failure: TransportError?

  init(_ certificates: CertificateMatrix) throws {
    var pair: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
      throw SystemFailure("socketpair", errno)
    }
    for end in pair { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    descriptor = pair[1]
    loop = try EventLoop()
    client = try TLSEngine(
      context: .client(TLSConfiguration(caFile: certificates.authority)), serverName: "localhost")
    let server = try TLSContext.server(
      certificateFile: certificates.trusted.certificate, keyFile: certificates.trusted.key)
    stream = .adopt(loop: loop, descriptor: pair[0], peer: nil, tls: server, delegate: self)
  }

  deinit { close(descriptor) }

  /// Floods until the stream fails or accepts everything; returns the failure.
  func run() -> TransportError? {
    // Wakes the loop for each turn of the client, which is not a source of the loop.
    let turn = LoopTimer(deadline: LoopInterest.immediately) {}
    loop.add(turn)
    loop.beforeWait { [unowned self] in
      turn.deadline = LoopInterest.immediately
      if failure != nil || sent >= Self.most { return loop.stop() }
      do { try act() } catch { loop.stop() }
    }
    loop.run()
    stream?.close()
    return failure
  }

  private func act() throws {
    if !isSecure {
      let count = input.write(minimum: 65_536) {
        max(0, read(descriptor, $0.baseAddress, $0.count))
      }
      if count > 0 { client.receive(ciphertext: input.view) }
      input.removeAll()
      isSecure = try client.handshake()
    } else if pending.isEmpty {
      try client.askForNewKeys(times: 500)
      sent += 500
    }
    client.drain(into: pending)
    let count = send(descriptor, pending.view.base, pending.count, Int32(MSG_NOSIGNAL))
    if count > 0 { pending.consume(count) }
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) {}
  func streamWritable(_ stream: SocketStream, at now: Instant) {}

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      _ = try stream.read(into: input, atMost: 65_536)
    } catch {
      failure = error
    }
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    failure = error
  }
}

import PusherCore
import TestSupport

/// A client engine and a server engine; the test carries ciphertext between them.
struct TLSPair {
  let client: TLSEngine
  let server: TLSEngine
  private let wire = ByteBuffer(capacity: 4096)

  init(
    _ configuration: TLSConfiguration, environment: TLSEnvironment = TLSEnvironment(),
    name: String = "localhost", certificate: String = "localhost"
  ) throws(TLSError) {
    client = try TLSEngine(
      context: .client(configuration, environment: environment), serverName: name)
    server = try TLSEngine(context: TestCertificates.shared.server(certificate))
  }

  /// A client that trusts the server, before the handshake.
  static func trusting() throws(TLSError) -> TLSPair {
    try TLSPair(TLSConfiguration(caFile: TestCertificates.shared.authority))
  }

  static func established() throws(TLSError) -> TLSPair {
    let pair = try trusting()
    try pair.continueHandshake()
    return pair
  }

  /// Returns the client's first message.
  func hello() throws(TLSError) -> [UInt8] {
    _ = try client.handshake()
    client.drain(into: wire)
    return wire.array
  }

  /// Reads at the client.
  func read(atMost count: Int = 100) throws(TLSError) -> ReadResult {
    try client.read(into: ByteBuffer(), atMost: count)
  }

  func continueHandshake(step: Int = .max) throws(TLSError) {
    for _ in 0..<10 {
      let clientIsDone = try client.handshake()
      carry(from: client, to: server, step: step) { _ = try? server.handshake() }
      let serverIsDone = (try? server.handshake()) ?? false
      carry(from: server, to: client, step: step)
      if clientIsDone && serverIsDone { return }
    }
  }

  func carry(from one: TLSEngine, to other: TLSEngine, step: Int = .max, after: () -> Void = {}) {
    one.drain(into: wire)
    while !wire.isEmpty {
      let count = min(step, wire.count)
      other.receive(ciphertext: wire.view[0..<count])
      wire.consume(count)
      after()
    }
  }

  func ciphertext(ofServer bytes: [UInt8]) throws(TLSError) -> [UInt8] {
    let plain = buffer(bytes)
    try server.write(plaintext: plain.view)
    server.drain(into: wire)
    defer { wire.removeAll() }
    return wire.array
  }

  func feedClient(_ bytes: some Collection<UInt8>) {
    wire.append([UInt8](bytes))
    client.receive(ciphertext: wire.view)
    wire.removeAll()
  }
}

package import PusherCore

extension Applications {
  /// Protocol versions without differences for a server.
  private static let protocolVersions = 4...7

  /// Accepts a socket by path, key, version and number (the protocol page, section "Connection").
  ///
  /// A refused socket still opens, to get the reason in an error event. The code closes it.
  package func admit(_ head: HTTPRequestHead) throws(ProtocolRefusal) -> Hub {
    guard let target = RequestTarget(head.target),
      let segments = target.segments, segments.count == 2, segments[0] == "app"
    else {
      throw ProtocolRefusal(reason: "Path not found", code: .pathNotFound)
    }
    guard let hub = self.hub(key: segments[1]) else {
      throw ProtocolRefusal(
        reason: "Could not find app by key \(segments[1]). "
          + "Perhaps you're connecting to the wrong cluster.", code: .unknownApplication)
    }
    guard hub.application.isEnabled else {
      throw ProtocolRefusal(reason: "The app is disabled", code: .applicationDisabled)
    }
    let checksVersions = dialect.has(.checksVersions)
    if checksVersions, let version = target["version"], !Self.isVersion(version) {
      throw ProtocolRefusal(reason: "Invalid version string: '\(version)'", code: .invalidVersion)
    }
    // A client without a protocol number is older than the parameter, or written by hand.
    if checksVersions, let version = target["protocol"], !speaksV2(head),
      !(Int(version).map(Self.protocolVersions.contains) ?? false)
    {
      throw ProtocolRefusal(
        reason: "Unsupported protocol version: '\(version)'", code: .unsupportedProtocol)
    }
    guard connectionCount < limits.connections else {
      throw ProtocolRefusal(
        reason: "the server has at most \(limits.connections) connections",
        code: dialect.connectionQuota)
    }
    if let limit = hub.application.limits.connections, hub.connectionCount >= limit {
      throw ProtocolRefusal(
        reason: "the app has at most \(limit) connections", code: dialect.connectionQuota)
    }
    return hub
  }

  /// Returns true if the client asks for protocol V2, and the server speaks it.
  package func speaksV2(_ head: HTTPRequestHead) -> Bool {
    guard let v2Service = text.v2Service else { return false }
    return RequestTarget(head.target)?["protocol"] == "\(v2Service.protocolVersion)"
  }

  /// Accepts `8`, `8.4.0`, `10.1.0-beta.2`: a digit first, then other characters of versions.
  private static func isVersion(_ text: String) -> Bool {
    guard let first = text.utf8.first, first &- 0x30 < 10 else { return false }
    return text.utf8.count <= 64
      && text.utf8.allSatisfy { byte in
        byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || ".-+_".utf8.contains(byte)
      }
  }
}

/// A WebSocket that opens only to send the reason of its refusal: browsers do not show pages the
/// status of a refused upgrade.
final class RefusedSocket: ConnectionSocket {
  private let connection: WebSocketConnection
  let code: PusherCode
  var input: ByteBuffer { connection.input }
  var output: ByteBuffer { connection.output }
  let deadline: Instant?
  private(set) var isFinished = false
  var isServed: Bool { false }

  init(
    _ connection: WebSocketConnection, _ refusal: ProtocolRefusal, applications: Applications,
    speaksV2: Bool = false, at now: Instant
  ) {
    self.connection = connection
    code = refusal.code ?? .generic
    let sendsCloseFrames = applications.dialect.has(.sendsCloseFrames)
    let limits = applications.limits
    let isKept = !sendsCloseFrames && code == .overQuota
    // Reverb keeps a connection beyond the quota. Here it ends when a live one would be pinged.
    deadline = now.advanced(by: isKept ? limits.times.activity : limits.times.close)
    let text = applications.text.of(v2: speaksV2)
    connection.send(text: text.error(code: code, message: refusal.reason))
    guard sendsCloseFrames else {
      isFinished = !isKept
      return
    }
    let explains = text.explainsRefusals
    connection.close(code.closeCode, reason: explains ? refusal.reason : "")
  }

  /// Drops the client's messages until it answers the close frame.
  func receive(at now: Instant) {
    while let event = connection.next() {
      switch event {
      case .closed, .failed: isFinished = true
      case .text, .binary, .ping, .pong: break
      }
    }
  }
  func inputEnded(at now: Instant) { isFinished = true }
  func tick(at now: Instant) { isFinished = true }
  func stop(at now: Instant) {}
  func lost(reason: String, at now: Instant) {}
}

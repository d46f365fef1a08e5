package import PusherCore

/// Accepts a socket by path, key, version and number (the protocol page, section "Connection").
package enum SocketAdmission {
  case accepted(Hub)
  /// Opens the WebSocket, sends the reason in an error event, and closes with the code.
  case refused(PusherCode, reason: String)

  /// Protocol versions without differences for a server.
  static let protocolVersions = 4...7

  package init(_ head: HTTPRequestHead, applications: Applications) {
    guard let target = RequestTarget(head.target),
      let segments = target.segments, segments.count == 2, segments[0] == "app"
    else {
      self = .refused(.pathNotFound, reason: "Path not found")
      return
    }
    guard let hub = applications.hub(key: segments[1]) else {
      self = .refused(
        .unknownApplication,
        reason: "Could not find app by key \(segments[1]). "
          + "Perhaps you're connecting to the wrong cluster.")
      return
    }
    guard hub.application.isEnabled else {
      self = .refused(.applicationDisabled, reason: "The app is disabled")
      return
    }
    let checksVersions = applications.dialect.has(.checksVersions)
    if checksVersions, let version = target["version"], !Self.isVersion(version) {
      self = .refused(.invalidVersion, reason: "Invalid version string: '\(version)'")
      return
    }
    // A client without a protocol number is older than the parameter, or written by hand.
    if checksVersions, let version = target["protocol"],
      !(Int(version).map(Self.protocolVersions.contains) ?? false)
    {
      self = .refused(.unsupportedProtocol, reason: "Unsupported protocol version: '\(version)'")
      return
    }
    guard applications.connectionCount < applications.limits.connections else {
      self = .refused(
        applications.dialect.connectionQuota,
        reason: "the server has at most \(applications.limits.connections) connections")
      return
    }
    if let limit = hub.application.limits.connections, hub.connectionCount >= limit {
      self = .refused(
        applications.dialect.connectionQuota, reason: "the app has at most \(limit) connections")
      return
    }
    self = .accepted(hub)
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
  var input: ByteBuffer { connection.input }
  var output: ByteBuffer { connection.output }
  let deadline: Instant?
  private(set) var isFinished = false
  var isServed: Bool { false }

  init(
    _ connection: WebSocketConnection, code: PusherCode, reason: String,
    applications: Applications, at now: Instant
  ) {
    self.connection = connection
    let sendsCloseFrames = applications.dialect.has(.sendsCloseFrames)
    let limits = applications.limits
    let isKept = !sendsCloseFrames && code == .overQuota
    // Reverb keeps a connection beyond the quota. Here it ends when a live one would be pinged.
    deadline = now.advanced(by: isKept ? limits.times.activity : limits.times.close)
    connection.send(text: applications.text.error(code: code, message: reason))
    guard sendsCloseFrames else {
      isFinished = !isKept
      return
    }
    let explains = applications.text.shapes.explainsRefusals
    connection.close(code.closeCode, reason: explains ? reason : "")
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

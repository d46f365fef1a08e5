/// Sends messages; each call returns `false`, and sends nothing, after a close frame was sent.
extension WebSocketConnection {
  /// The text must be UTF-8 and must not lie in the output.
  @discardableResult
  package func send(text: ByteView) -> Bool { unsafe sender.send(.text, text.raw) }

  @discardableResult package func send(text: String) -> Bool {
    var text = text
    return text.withUTF8 { unsafe sender.send(.text, UnsafeRawBufferPointer($0)) }
  }

  /// The bytes must not lie in the output.
  @discardableResult
  package func send(binary: ByteView) -> Bool { unsafe sender.send(.binary, binary.raw) }

  @discardableResult package func send(binary: [UInt8]) -> Bool {
    unsafe binary.withUnsafeBytes { unsafe sender.send(.binary, $0) }
  }

  /// Sends a frame that ``FrameEncoder`` wrote in advance, for many clients at once.
  @discardableResult
  package func send(encodedFrame frame: ByteView) -> Bool { sender.sendEncoded(frame) }

  /// The payload has at most 125 bytes, as in ``pong(_:)``.
  @discardableResult
  package func ping(_ payload: [UInt8] = []) -> Bool { sender.sendControl(.ping, payload) }

  /// Sends an unsolicited pong; pings are answered without it.
  @discardableResult
  package func pong(_ payload: [UInt8] = []) -> Bool { sender.sendControl(.pong, payload) }

  /// Begins the close handshake; ``next()`` still returns messages until the peer's close frame.
  ///
  /// A code that is illegal on the wire, such as ``CloseCode/abnormal``, is left out, and the
  /// reason is cut to 123 bytes. A second call does nothing.
  package func close(_ code: CloseCode = .normal, reason: String = "") {
    guard state == .open else { return }
    state = .closing
    sender.close(code, reason: reason)
  }
}

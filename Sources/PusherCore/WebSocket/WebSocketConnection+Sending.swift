/// Sends messages; each call returns `false`, and sends nothing, after a close frame was sent.
extension WebSocketConnection {
  /// Sends text, which must be UTF-8 and must not lie in the output.
  @discardableResult
  package func send(text: ByteView) -> Bool {
    unsafe sender.send(.text, text.raw)
  }

  @discardableResult
  package func send(text: String) -> Bool {
    var text = text
    return text.withUTF8 { unsafe sender.send(.text, UnsafeRawBufferPointer($0)) }
  }

  /// Sends bytes that do not lie in the output.
  @discardableResult
  package func send(binary: ByteView) -> Bool {
    unsafe sender.send(.binary, binary.raw)
  }

  @discardableResult
  package func send(binary: [UInt8]) -> Bool {
    unsafe binary.withUnsafeBytes { unsafe sender.send(.binary, $0) }
  }

  /// Sends a frame that ``FrameEncoder`` wrote in advance, as a server does for many clients at
  /// once.
  @discardableResult
  package func send(encodedFrame frame: ByteView) -> Bool {
    sender.sendEncoded(frame)
  }

  /// Sends a ping with at most 125 bytes.
  @discardableResult
  package func ping(_ payload: [UInt8] = []) -> Bool {
    sender.sendControl(.ping, payload)
  }

  /// Sends an unsolicited pong with at most 125 bytes; pings are answered without it.
  @discardableResult
  package func pong(_ payload: [UInt8] = []) -> Bool {
    sender.sendControl(.pong, payload)
  }

  /// Begins the close handshake; ``next()`` still returns the peer's messages until its close
  /// frame.
  ///
  /// A code that is illegal on the wire, such as ``CloseCode/noStatus``, sends a close frame
  /// without a code. The reason is cut to 123 bytes. A second call does nothing.
  package func close(_ code: CloseCode = .normal, reason: String = "") {
    guard state == .open else { return }
    state = .closing
    sender.close(code, reason: reason)
  }
}

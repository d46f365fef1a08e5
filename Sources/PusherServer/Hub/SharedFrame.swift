package import PusherCore

/// A message as a WebSocket frame, encoded once for all recipients on any thread.
///
/// A large frame is compressed once for all clients that support it, without a shared window.
package final class SharedFrame: @unchecked Sendable {
  // Sendable because the buffer never changes and a lock protects the compressed frame.

  private final class Compressed: @unchecked Sendable {
    // Sendable because the buffer never changes.
    let buffer: ByteBuffer?

    init(_ buffer: ByteBuffer?) { self.buffer = buffer }
  }

  /// Minimum size for compression, in bytes; smaller messages fit into one packet anyway.
  package static let compressedFrom = 1024
  /// Window size that the client must support: the maximum, which is also the default.
  static let windowBits = 15

  /// Channel of the event; `nil` for messages of the protocol.
  let channel: String?
  private let buffer: ByteBuffer
  /// The compressed frame after its first use; `nil` if the frame is too small.
  private let compression: Locked<Compressed?>?
  private static let deflater = Locked<Deflater?>(nil)

  package init(_ text: String, channel: String? = nil) {
    self.channel = channel
    let count = text.utf8.count
    let payload = ByteBuffer(capacity: count)
    payload.append(text)
    buffer = ByteBuffer(capacity: count + 14)
    FrameEncoder.frame(.text, payload: payload.view, mask: nil, into: buffer)
    compression = count < Self.compressedFrom ? nil : Locked(nil)
  }

  /// Splits a message into two frames, inside the first multi-byte character if there is one.
  init(inTwoFragments text: String) {
    channel = nil
    let bytes = Array(text.utf8)
    let cut = bytes.firstIndex { $0 >= 0xC0 }.map { $0 + 1 } ?? bytes.count / 2
    buffer = ByteBuffer(capacity: bytes.count + 28)
    FrameEncoder.frame(
      .text, payload: Array(bytes[..<cut]), isFinal: false, mask: nil, into: buffer)
    FrameEncoder.frame(.continuation, payload: Array(bytes[cut...]), mask: nil, into: buffer)
    compression = nil
  }

  package var view: ByteView { buffer.view }

  /// A large frame is compressed if that makes it smaller, for clients with permessage-deflate.
  package var smallestView: ByteView {
    guard let compression else { return view }
    let compressed = compression.withLock { compressed in
      if let compressed { return compressed }
      let new = Compressed(compress())
      compressed = new
      return new
    }
    return compressed.buffer?.view ?? view
  }

  /// Compresses the message on its own (RFC 7692 section 7.2.1); `nil` if that saves nothing.
  private func compress() -> ByteBuffer? {
    guard let header = try? FrameHeader.decode(view) else { return nil }
    let output = ByteBuffer(capacity: view.count / 2)
    Self.deflater.withLock { deflater in
      let used = deflater ?? Deflater(windowBits: Self.windowBits)
      deflater = used
      let payload = ByteBuffer(capacity: view.count)
      used.deflate(view[header.size..<view.count], into: payload)
      used.reset()
      FrameEncoder.frame(.text, payload: payload.view, isCompressed: true, mask: nil, into: output)
    }
    return output.count < view.count ? output : nil
  }

  /// The message, if the buffer holds one frame.
  package var text: String {
    guard let header = try? FrameHeader.decode(view) else { return "" }
    return view[header.size..<view.count].text
  }
}

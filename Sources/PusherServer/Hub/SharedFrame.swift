package import PusherCore

/// A message as the frame that goes on the wire, encoded once for all who get it, on whatever thread they are.
///
/// One that is large is compressed once for all of them who read that, each by itself: a window is kept for none.
package final class SharedFrame: @unchecked Sendable {
  // Sendable because nothing changes the buffer once it is made, and what is compressed is reached under a lock.

  /// A frame that was compressed; no buffer where that saves nothing.
  private final class Compressed: @unchecked Sendable {
    // Sendable because nothing changes the buffer once it is made.
    let buffer: ByteBuffer?

    init(_ buffer: ByteBuffer?) {
      self.buffer = buffer
    }
  }

  /// Messages of fewer bytes fit into one packet in any case, and stay as they are.
  package static let compressedFrom = 1024
  /// What the client must be able to read: the largest window, which clients have unless they ask for less.
  static let windowBits = 15

  /// The channel whose event it is; `nil` for the protocol's own messages.
  let channel: String?
  private let buffer: ByteBuffer
  /// The frame compressed, once somebody wants it; `nil` for one that stays as it is.
  private let compression: Locked<Compressed?>?
  private static let deflater = Locked<Deflater?>(nil)

  /// The text frame of a message.
  package init(_ text: String, channel: String? = nil) {
    self.channel = channel
    let count = text.utf8.count
    let payload = ByteBuffer(capacity: count)
    payload.append(text)
    buffer = ByteBuffer(capacity: count + 14)
    FrameEncoder.frame(.text, payload: payload.view, mask: nil, into: buffer)
    compression = count < Self.compressedFrom ? nil : Locked(nil)
  }

  /// A message as two frames, the first of which ends after a character's first byte, if one has more.
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

  /// The frame for a client that reads permessage-deflate: compressed where it is large and that makes it smaller.
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

  /// The message in a frame by itself (RFC 7692 section 7.2.1); `nil` where it is as long or longer.
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

  /// The message, if it is one frame.
  package var text: String {
    guard let header = try? FrameHeader.decode(view) else { return "" }
    return view[header.size..<view.count].text
  }
}

package import PusherCore

/// A message as the frame that goes on the wire, encoded once for all who get it.
package final class SharedFrame {
  private let buffer: ByteBuffer

  /// The text frame of a message.
  package init(_ text: String) {
    let count = text.utf8.count
    let payload = ByteBuffer(capacity: count)
    payload.append(text)
    buffer = ByteBuffer(capacity: count + 14)
    FrameEncoder.frame(.text, payload: payload.view, mask: nil, into: buffer)
  }

  package var view: ByteView { buffer.view }
}

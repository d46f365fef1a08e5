package import PusherCore

/// One client of a hub: it is subscribed, may be signed in, and takes messages.
protocol HubSession: AnyObject {
  var socketID: String { get }
  /// The channels it is subscribed to.
  var subscriptions: NameSet { get }
  /// The user that is signed in on it.
  var user: SignedInUser? { get set }
  /// Sends one message to this client alone.
  func send(_ text: String, at now: Instant)
  /// Sends a message that others get too; false when the client can get no more messages.
  func deliver(_ frame: SharedFrame, at now: Instant) -> Bool
  /// Tells this client that a subscription was refused after all.
  func refuse(_ channel: String, _ refusal: SubscriptionRefusal, at now: Instant)
  /// Ends the connection because the app wants its user gone.
  func terminate(at now: Instant)
}

/// How a hub reads channel names; servers differ.
protocol ChannelNaming: Sendable {
  /// What a channel's name says about it.
  func kind(of channel: String) -> ChannelKind
  /// Whether new subscribers get a channel's last event.
  func isCache(_ channel: String) -> Bool
}

/// A message as the frame that goes on the wire, encoded once for all who get it, on whatever thread they are.
package final class SharedFrame: @unchecked Sendable {
  // Sendable because nothing changes the buffer once it is made.

  /// The channel whose event it is; `nil` for the protocol's own messages.
  let channel: String?
  private let buffer: ByteBuffer

  /// The text frame of a message.
  package init(_ text: String, channel: String? = nil) {
    self.channel = channel
    let count = text.utf8.count
    let payload = ByteBuffer(capacity: count)
    payload.append(text)
    buffer = ByteBuffer(capacity: count + 14)
    FrameEncoder.frame(.text, payload: payload.view, mask: nil, into: buffer)
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
  }

  package var view: ByteView { buffer.view }

  /// The message, if it is one frame.
  var text: String {
    guard let header = try? FrameHeader.decode(view) else { return "" }
    return view[header.size..<view.count].text
  }
}

internal import PusherCore

/// Random Pusher messages from a seed, as common servers encode them.
package struct RandomMessage {
  package let bytes: [UInt8]
  /// True if the message has the usual shape, which the fast way must not decline.
  package let isCommon: Bool

  private static let events = [
    "e", "my-event", "order.created", "client-typing", "App\\\\Events\\\\Shipped", "été 中",
    "a-rather-long-event-name-that-is-longer-than-sixteen", "pushed", "pusher-like", "12345678",
  ]
  private static let channels = [
    "c", "my-channel", "private-orders", "presence-lobby", "private-encrypted-x", "cache-a",
    "private-encryptee", "presence-a=b,c;d@e.f_g", "1234567", "#server-to-user-1",
  ]
  private static let styles: [(inner: JSONEncoding, outer: JSONEncoding, isCommon: Bool)] = [
    (.minimal, .minimal, true), (.php, .php, true), (.python, .python, true),
    (.shouting, .minimal, true), (.php, .minimal, true),
    (.minimal, .php, false), (.pretty, .minimal, false), (.pretty, .php, false),
  ]

  package init(_ random: inout SeededGenerator) {
    let style = random.pick(Self.styles)
    let event = random.pick(Self.events)
    let channel = random.pick(Self.channels)
    let value = RandomJSON.value(depth: random.below(5), &random)
    let data = style.outer.quoted(style.inner.text(value))
    let eventMember = #""event":"\#(event)""#
    let channelMember = #""channel":"\#(channel)""#
    let shape = random.below(10)
    let members =
      switch shape {
      case 0..<5: [eventMember, channelMember, #""data":\#(data)"#]
      case 5, 6, 7: [eventMember, #""data":\#(data)"#, channelMember]
      case 8: [channelMember, eventMember, #""data":\#(data)"#, #""user_id":"7""#]
      default: [eventMember, channelMember, #""data":\#(style.inner.text(value))"#]
      }
    bytes = Array("{\(members.joined(separator: ","))}".utf8)
    let isPlainName = !event.hasPrefix("pusher") && !event.contains("\\")
    isCommon = style.isCommon && shape < 8 && isPlainName && !channel.hasPrefix("private-encrypte")
  }

  /// Returns the message with one to three bytes changed, inserted or removed; it stays UTF-8.
  package func mutated(_ random: inout SeededGenerator) -> [UInt8] {
    let alphabet = Array(#"\\\\"""{}[],: /u0019eE+-.tfnabdDC8"#.utf8) + [0, 0x0A, 0x1F, 0x7F]
    var bytes = bytes
    for _ in 0...random.below(3) where !bytes.isEmpty {
      let place = random.below(bytes.count)
      guard bytes[place] < 0x80 else { continue }
      let byte = random.pick(alphabet)
      switch random.below(4) {
      case 0: bytes.insert(byte, at: place)
      case 1: bytes.remove(at: place)
      case 2: bytes[place] = byte
      default:
        let other = random.below(bytes.count)
        guard bytes[other] < 0x80 else { continue }
        bytes.swapAt(place, other)
      }
    }
    return bytes
  }
}

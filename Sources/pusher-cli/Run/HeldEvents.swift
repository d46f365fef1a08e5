internal import PusherCore

/// A queue of a feed's events and reports, for the time in which they cannot be handed on.
///
/// The feed still answers pings and notices a lost connection.
struct HeldEvents {
  /// An event or a report.
  enum Happening {
    /// An event's message, and what ``Envelope/init(_:isDecrypted:)`` needs beside it; with the name that differs from
    /// the message's own.
    case event([UInt8], isDecrypted: Bool, name: String?)
    case session(SessionEvent)
    case connection(ConnectionEvent)

    /// Approximate size in memory, in bytes.
    fileprivate var cost: Int {
      guard case .event(let bytes, _, _) = self else { return 512 }
      return bytes.count + 128
    }
  }

  private var happenings = Fifo<Happening>()
  /// Approximate size of the queue, in bytes.
  private(set) var cost = 0

  var isEmpty: Bool { happenings.isEmpty }

  mutating func add(_ happening: Happening) {
    happenings.append(happening)
    cost += happening.cost
  }

  mutating func add(_ event: Envelope, named name: String?) {
    let bytes = event.plainData == nil ? event.message.array : Array(event.text.utf8)
    add(.event(bytes, isDecrypted: event.isDecrypted, name: name))
  }

  /// Takes the oldest.
  mutating func take() -> Happening? {
    let happening = happenings.popFirst()
    cost -= happening?.cost ?? 0
    return happening
  }

  mutating func removeAll() {
    (happenings, cost) = (Fifo(), 0)
  }
}

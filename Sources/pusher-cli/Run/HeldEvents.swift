internal import PusherCore

/// A queue of events and reports that cannot be handled yet.
///
/// The feed still answers pings and notices a lost connection.
struct HeldEvents {
  enum Item {
    /// The arguments of ``Envelope/init(_:isDecrypted:)``, and a name that replaces the message's
    /// own.
    case event([UInt8], isDecrypted: Bool, name: String?)
    case session(SessionEvent)
    case connection(ConnectionEvent)

    fileprivate var cost: Int {
      guard case .event(let bytes, _, _) = self else { return 512 }
      return bytes.count + 128
    }
  }

  private var items = Fifo<Item>()
  private(set) var cost = 0

  var isEmpty: Bool { items.isEmpty }

  mutating func add(_ item: Item) {
    items.append(item)
    cost += item.cost
  }

  mutating func add(_ event: Envelope, named name: String?) {
    let bytes = event.plainData == nil ? event.message.array : Array(event.text.utf8)
    add(.event(bytes, isDecrypted: event.isDecrypted, name: name))
  }

  mutating func take() -> Item? {
    let item = items.popFirst()
    cost -= item?.cost ?? 0
    return item
  }

  mutating func removeAll() { (items, cost) = (Fifo(), 0) }
}

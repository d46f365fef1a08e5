/// An event and its recipients, reused for messages that differ only in their data.
///
/// A single instance is moved, never copied, so that no reference count changes per event.
struct EventDelivery: ~Copyable {
  /// Has no data while it is kept for the next event.
  private var event: PusherEvent
  private let recipients: EventRecipients

  init(_ event: PusherEvent, to recipients: EventRecipients) {
    self.event = event
    self.recipients = recipients
  }

  /// False after a handler was bound or unbound.
  var isCurrent: Bool { @inline(__always) get { recipients.areCurrent } }

  var isWanted: Bool { @inline(__always) get { recipients.first != nil } }

  @inline(__always) mutating func handOut(_ data: consuming String, received time: WallTime) {
    event.data = consume data
    event.timeReceived = time
    recipients.first?.receive(event)
    if recipients.hasMore { recipients.callOthers(event) }
    event.data = nil
  }
}

/// Handlers of an event: the channel's, then the client's; handlers of the name come first.
final class EventRecipients {
  let first: EventHandler?
  let hasMore: Bool
  private let handlers: [EventHandler]
  private let own: BindingList?
  private let ownChange: UInt
  private let all: BindingList
  private let allChange: UInt

  init(
    of name: String, own: BindingList?, _ ownSnapshot: borrowing BindingList.Snapshot,
    all: BindingList, _ allSnapshot: borrowing BindingList.Snapshot
  ) {
    // Avoids an array for the common channel without handlers.
    var handlers = allSnapshot.table.handlers(of: name)
    if own != nil, !ownSnapshot.isEmpty {
      handlers = ownSnapshot.table.handlers(of: name) + handlers
    }
    first = handlers.first
    hasMore = handlers.count > 1
    self.handlers = handlers
    self.own = own
    ownChange = ownSnapshot.changes
    self.all = all
    allChange = allSnapshot.changes
  }

  @inline(never) func callOthers(_ event: PusherEvent) {
    for index in 1..<handlers.count { handlers[index].receive(event) }
  }

  var areCurrent: Bool {
    @inline(__always) get {
      guard all.changeCount == allChange else { return false }
      guard let own else { return true }
      return own.changeCount == ownChange
    }
  }
}

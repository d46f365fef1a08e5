/// An event whose data alone is new, and who gets it.
///
/// There is only ever one of it, which goes from hand to hand, so that nothing in it is counted anew for each event.
struct EventDelivery: ~Copyable {
  /// Without data while it is kept for the next event.
  private var event: PusherEvent
  private let recipients: EventRecipients

  /// - Parameter event: The names.
  init(_ event: PusherEvent, to recipients: EventRecipients) {
    self.event = event
    self.recipients = recipients
  }

  /// Whether nobody was bound or unbound since.
  var isCurrent: Bool {
    @inline(__always) get { recipients.areCurrent }
  }

  /// Whether anybody gets the event.
  var isWanted: Bool {
    @inline(__always) get { recipients.first != nil }
  }

  /// Calls the handlers.
  @inline(__always)
  mutating func handOut(_ data: consuming String, received time: WallTime) {
    event.data = consume data
    event.timeReceived = time
    recipients.first?.receive(event)
    if recipients.hasMore { recipients.callOthers(event) }
    event.data = nil
  }
}

/// The handlers that get an event: the channel's, then the client's, first those of its name.
final class EventRecipients {
  let first: EventHandler?
  let hasMore: Bool
  private let handlers: [EventHandler]
  private let own: BindingList?
  private let ownChange: UInt
  private let all: BindingList
  private let allChange: UInt

  /// - Parameters:
  ///   - own: The handlers of the channel; `nil` for no channel that is known.
  ///   - all: The handlers of the client.
  init(
    of name: String, own: BindingList?, _ ownSnapshot: borrowing BindingList.Snapshot,
    all: BindingList, _ allSnapshot: borrowing BindingList.Snapshot
  ) {
    // Channels mostly take turns, and most have no handlers: then no list is made anew.
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

  /// Calls all but the first.
  @inline(never)
  func callOthers(_ event: PusherEvent) {
    for index in 1..<handlers.count { handlers[index].receive(event) }
  }

  /// Whether nobody was bound or unbound since.
  var areCurrent: Bool {
    @inline(__always) get {
      guard all.changeCount == allChange else { return false }
      guard let own else { return true }
      return own.changeCount == ownChange
    }
  }
}

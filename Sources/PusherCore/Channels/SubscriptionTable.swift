/// Wanted channels in the order of their requests.
///
/// Counters and queues follow every change of state, so that no query walks through all channels.
struct SubscriptionTable {
  private var table = OrderedTable<Subscription>()
  private var subscribed = 0
  private var settled = 0
  private var requestedCount = 0
  /// Unanswered requests in the order of sending, which is also the order of their deadlines.
  ///
  /// A deadline is valid while the channel's state has the same time.
  private var requests = Fifo<(time: Instant, channel: String)>()
  /// Channels that wait for the server's rate limit, in order.
  private var held = Fifo<String>()
  private(set) var heldCount = 0
  private var delays = TimeHeap<String>()
  /// Total number of visited entries; tests limit it.
  private(set) var looks = 0
  /// Counts possible changes; a copy of a channel's state is valid while this stays the same.
  private(set) var changes = 0

  var count: Int { table.count }
  var isEmpty: Bool { table.count == 0 }
  var names: [String] { table.elements.map(\.name) }
  var isAnySubscribed: Bool { subscribed > 0 }
  var areAllSettled: Bool { settled == table.count }
  /// Number of channels that are still to be requested.
  var unsentCount: Int { table.count - settled - requestedCount }

  subscript(channel: String) -> Subscription? {
    get { table[channel] }
    _modify {
      changes &+= 1
      let before = table[channel]?.state
      yield &table[channel]
      account(channel, before, table[channel]?.state)
    }
  }

  /// Changes a channel with one search for it, where the subscript makes three.
  mutating func change(_ channel: String, _ body: (inout Subscription?) -> Void) {
    changes &+= 1
    var states: (before: Subscription.State?, after: Subscription.State?)
    func apply(_ subscription: inout Subscription?) {
      states.before = subscription?.state
      body(&subscription)
      states.after = subscription?.state
    }
    apply(&table[channel])
    account(channel, states.before, states.after)
  }

  private mutating func account(
    _ channel: String, _ before: Subscription.State?, _ after: Subscription.State?
  ) {
    guard before != after else { return }
    subscribed += (after == .subscribed ? 1 : 0) - (before == .subscribed ? 1 : 0)
    settled += (after?.isSettled == true ? 1 : 0) - (before?.isSettled == true ? 1 : 0)
    heldCount += (after == .held ? 1 : 0) - (before == .held ? 1 : 0)
    requestedCount +=
      (after?.isRequested == true ? 1 : 0) - (before?.isRequested == true ? 1 : 0)
    switch after {
    case .held: held.append(channel)
    case .requested(let until): requests.append((until, channel))
    case .delayed(let until): delays.add(channel, at: until)
    case .waiting, .authorizing, .subscribed, .failed, nil: break
    }
    dropStale()
  }

  private mutating func dropStale() {
    while let (time, channel) = requests.first, !isCurrent(channel, time) {
      looks += 1
      _ = requests.popFirst()
    }
    while let first = held.first, table[first]?.state != .held {
      looks += 1
      _ = held.popFirst()
    }
    while let (time, channel) = delays.first, !isCurrent(channel, time) {
      looks += 1
      delays.removeFirst()
    }
  }

  private func isCurrent(_ channel: String, _ time: Instant) -> Bool {
    switch table[channel]?.state {
    case .requested(time), .delayed(time): true
    default: false
    }
  }

  private var unanswered: some Sequence<String> {
    requests.lazy.filter { isCurrent($0.channel, $0.time) }.map(\.channel)
  }

  // MARK: Deadlines

  /// Answers are not late while nothing is read.
  func deadline(ignoringRequests: Bool) -> Instant? {
    Instant.earliest(ignoringRequests ? nil : requests.first?.time, delays.first?.time)
  }

  func firstDue(at now: Instant, ignoringRequests: Bool) -> String? {
    if !ignoringRequests, let first = requests.first, first.time <= now { return first.channel }
    guard let (time, channel) = delays.first, time <= now else { return nil }
    return channel
  }

  mutating func renewRequests(until time: Instant) {
    setUnanswered(.requested(until: time))
  }

  /// Takes back every unanswered request until the server's rate limit allows it.
  mutating func holdRequests() {
    setUnanswered(.held)
  }

  private mutating func setUnanswered(_ state: Subscription.State) {
    let channels = Array(unanswered)
    looks += channels.count
    for channel in channels { self[channel]?.state = state }
  }

  var firstHeld: String? { held.first }
  func isHeld(_ channel: String) -> Bool { table[channel]?.state == .held }

  var firstGuardedRequest: String? {
    unanswered.first(where: isGuardedRequest)
  }

  func isGuardedRequest(_ channel: String) -> Bool {
    isRequest(channel) && table[channel]?.kind.needsAuthorization == true
  }

  func isRequest(_ channel: String) -> Bool { table[channel]?.state.isRequested == true }

  var onlyRequest: String? {
    var rest = unanswered.makeIterator()
    guard let only = rest.next(), rest.next() == nil else { return nil }
    return only
  }
}

struct Subscription: Equatable {
  enum State: Equatable {
    /// There is no connection, or the request waits its turn.
    case waiting
    case authorizing
    case delayed(until: Instant)
    /// The server's rate limit allows no request now; the server may have dropped an earlier one.
    case held
    case requested(until: Instant)
    case subscribed
    case failed

    /// True if no answer is due for now.
    var isSettled: Bool { self == .subscribed || self == .failed }
    var isRequested: Bool { if case .requested = self { true } else { false } }
  }

  let channel: String
  let kind: ChannelKind
  var state: State = .waiting
  var signatures = SignatureAttempts()
  /// Signature for the present connection, kept until the server confirms the channel.
  var authorization: Authorization?
  /// An error that came before the answer, and may be the refusal.
  var remark: String?
  var key: ChannelKey?
  /// Set while a new key is requested.
  var rekeying: Rekeying?
  /// Time of the last request for a new key, until the channel's key works.
  var rekeyedAt: Instant?
  /// Members of a presence channel; kept over a loss, to report changes afterwards.
  var roster: PresenceRoster?

  init(channel: String) {
    self.channel = channel
    kind = ChannelKind(channelName: channel)
  }
}

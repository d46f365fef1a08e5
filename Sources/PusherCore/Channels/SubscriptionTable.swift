/// Wanted channels in the order of their requests.
///
/// Counters and queues follow every change of state, so that no query walks through all channels.
struct SubscriptionTable {
  /// A deadline, valid while the channel's state has the same time.
  private struct ChannelDeadline {
    let channel: String
    let time: Instant
  }

  private var table = OrderedTable<Subscription>()
  private var subscribed = 0
  private var settled = 0
  private var requestedCount = 0
  /// Unanswered requests in the order of sending, which is also the order of their deadlines.
  private var requests = Fifo<ChannelDeadline>()
  /// Channels that wait for the server's rate limit, in order.
  private var held = Fifo<String>()
  private(set) var heldCount = 0
  /// A heap with the earliest time on top.
  private var delays: [ChannelDeadline] = []
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
    case .requested(let until): requests.append(ChannelDeadline(channel: channel, time: until))
    case .delayed(let until): push(ChannelDeadline(channel: channel, time: until))
    case .waiting, .authorizing, .subscribed, .failed, nil: break
    }
    dropStale()
  }

  private mutating func dropStale() {
    while let first = requests.first, !isCurrent(first) {
      looks += 1
      _ = requests.popFirst()
    }
    while let first = held.first, table[first]?.state != .held {
      looks += 1
      _ = held.popFirst()
    }
    while let first = delays.first, !isCurrent(first) { popDelay() }
  }

  private func isCurrent(_ appointment: ChannelDeadline) -> Bool {
    switch table[appointment.channel]?.state {
    case .requested(appointment.time), .delayed(appointment.time): true
    default: false
    }
  }

  // MARK: Deadlines

  /// Answers are not late while nothing is read.
  func deadline(ignoringRequests: Bool) -> Instant? {
    Instant.earliest(ignoringRequests ? nil : requests.first?.time, delays.first?.time)
  }

  func firstDue(at now: Instant, ignoringRequests: Bool) -> String? {
    if !ignoringRequests, let first = requests.first, first.time <= now { return first.channel }
    guard let delay = delays.first, delay.time <= now else { return nil }
    return delay.channel
  }

  mutating func renewRequests(until time: Instant) {
    let unanswered = requests.filter(isCurrent)
    looks += unanswered.count
    for request in unanswered { self[request.channel]?.state = .requested(until: time) }
  }

  /// Takes back every unanswered request until the server's rate limit allows it.
  mutating func holdRequests() {
    let unanswered = requests.filter(isCurrent)
    looks += unanswered.count
    for request in unanswered { self[request.channel]?.state = .held }
  }

  var firstHeld: String? { held.first }
  func isHeld(_ channel: String) -> Bool { table[channel]?.state == .held }

  var firstGuardedRequest: String? {
    requests.first { isCurrent($0) && isGuardedRequest($0.channel) }?.channel
  }

  func isGuardedRequest(_ channel: String) -> Bool {
    isRequest(channel) && table[channel]?.kind.needsAuthorization == true
  }

  func isRequest(_ channel: String) -> Bool { table[channel]?.state.isRequested == true }

  var onlyRequest: String? {
    var unanswered = requests.lazy.filter(isCurrent).map(\.channel).makeIterator()
    guard let only = unanswered.next(), unanswered.next() == nil else { return nil }
    return only
  }

  // MARK: The heap

  private mutating func push(_ appointment: ChannelDeadline) {
    var place = delays.count
    delays.append(appointment)
    while place > 0, delays[place].time < delays[(place - 1) / 2].time {
      looks += 1
      delays.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private mutating func popDelay() {
    delays.swapAt(0, delays.count - 1)
    delays.removeLast()
    var place = 0
    while true {
      looks += 1
      let children = (2 * place + 1)..<min(2 * place + 3, max(2 * place + 1, delays.count))
      guard let least = children.min(by: { delays[$0].time < delays[$1].time }),
        delays[least].time < delays[place].time
      else { return }
      delays.swapAt(place, least)
      place = least
    }
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

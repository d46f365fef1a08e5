/// The wanted channels in the order in which they were asked for, with counters and queues over all of them.
///
/// Counters and queues follow every change of state, so that no query walks through ten thousand channels.
struct SubscriptionTable {
  /// By when something is due, valid as long as the channel's state says the same.
  private struct Appointment {
    let channel: String
    let time: Instant
  }

  private var table = OrderedTable<Subscription>()
  private var subscribed = 0
  private var settled = 0
  /// Unanswered requests in the order in which they were made, which is that of their deadlines too.
  private var requests = Fifo<Appointment>()
  /// Channels that wait for the server's rate limit, in their order.
  private var held = Fifo<String>()
  /// How many there are.
  private(set) var heldCount = 0
  /// Authorisations that will be asked for again: a heap with the earliest on top.
  private var delays: [Appointment] = []
  /// How many entries were visited in total; tests limit it.
  private(set) var looks = 0
  /// Counts what may have changed a channel; a copy of something of a channel is good while this stays the same.
  private(set) var changes = 0

  var count: Int { table.count }
  var isEmpty: Bool { table.count == 0 }

  /// The names in their order.
  var names: [String] { table.elements.map(\.name) }

  /// Whether the server has confirmed any channel.
  var isAnySubscribed: Bool { subscribed > 0 }
  /// Whether nothing more is expected for any channel.
  var areAllSettled: Bool { settled == table.count }

  /// One channel; changes happen in place.
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
    switch after {
    case .held: held.append(channel)
    case .requested(let until): requests.append(Appointment(channel: channel, time: until))
    case .delayed(let until): push(Appointment(channel: channel, time: until))
    case .waiting, .authorizing, .subscribed, .failed, nil: break
    }
    dropStale()
  }

  /// Keeps the fronts of both queues valid.
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

  private func isCurrent(_ appointment: Appointment) -> Bool {
    switch table[appointment.channel]?.state {
    case .requested(appointment.time), .delayed(appointment.time): true
    default: false
    }
  }

  // MARK: Deadlines

  /// The earliest time at which a channel needs attention; answers are not late while nothing is read.
  func deadline(ignoringRequests: Bool) -> Instant? {
    Instant.earliest(ignoringRequests ? nil : requests.first?.time, delays.first?.time)
  }

  /// A channel whose time has come.
  func firstDue(at now: Instant, ignoringRequests: Bool) -> String? {
    if !ignoringRequests, let first = requests.first, first.time <= now { return first.channel }
    guard let delay = delays.first, delay.time <= now else { return nil }
    return delay.channel
  }

  /// Gives every unanswered request until `time`.
  mutating func renewRequests(until time: Instant) {
    let unanswered = requests.filter(isCurrent)
    looks += unanswered.count
    for request in unanswered { self[request.channel]?.state = .requested(until: time) }
  }

  /// Takes every unanswered request back until the server's rate limit allows it.
  mutating func holdRequests() {
    let unanswered = requests.filter(isCurrent)
    looks += unanswered.count
    for request in unanswered { self[request.channel]?.state = .held }
  }

  /// The channel that is asked for next under the server's rate limit.
  var firstHeld: String? { held.first }

  /// Whether a channel waits for the server's rate limit.
  func isHeld(_ channel: String) -> Bool { table[channel]?.state == .held }

  /// The first unanswered request for a channel that needed a signature.
  var firstGuardedRequest: String? {
    requests.first { isCurrent($0) && isGuardedRequest($0.channel) }?.channel
  }

  /// Whether a channel that needed a signature still waits for its answer.
  func isGuardedRequest(_ channel: String) -> Bool {
    isRequest(channel) && table[channel]?.kind.needsAuthorization == true
  }

  /// Whether a channel still waits for its answer.
  func isRequest(_ channel: String) -> Bool {
    if case .requested = table[channel]?.state { true } else { false }
  }

  /// The only channel that still waits for an answer, if there is only one.
  var onlyRequest: String? {
    var unanswered = requests.lazy.filter(isCurrent).map(\.channel).makeIterator()
    guard let only = unanswered.next(), unanswered.next() == nil else { return nil }
    return only
  }

  // MARK: The heap

  private mutating func push(_ appointment: Appointment) {
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

/// One wanted channel, and its state on this connection.
struct Subscription: Equatable {
  enum State: Equatable {
    /// There is no connection, or the request waits its turn.
    case waiting
    /// A signature was asked for.
    case authorizing
    /// A signature will be asked for again at this time.
    case delayed(until: Instant)
    /// The server's rate limit allows no request now; the server may have dropped an earlier one.
    case held
    /// The server was asked, and has until this time to answer.
    case requested(until: Instant)
    /// The server confirmed it.
    case subscribed
    case failed

    /// Whether nothing more is expected for now.
    var isSettled: Bool { self == .subscribed || self == .failed }
  }

  let channel: String
  let kind: ChannelKind
  var state: State = .waiting
  var signatures = SignatureAttempts()
  /// The signature of the present connection, until the server confirms the channel.
  var authorization: Authorization?
  /// An error that came while the answer was due, and may be the refusal.
  var remark: String?
  /// The key of an encrypted channel, as the last authorisation brought it.
  var key: ChannelKey?
  /// Set while a new key is asked for.
  var rekeying: Rekeying?
  /// When a new key last did not help.
  var rekeyedAt: Instant?
  /// The members of a presence channel; kept over a loss, to report changes afterwards.
  var roster: PresenceRoster?

  init(channel: String) {
    self.channel = channel
    kind = ChannelKind(channelName: channel)
  }

  /// Whether nothing more is expected for now.
  var isSettled: Bool { state.isSettled }
}

internal import PusherCore

/// The kind of load that `bench` puts on a server.
enum BenchMode: String, CaseIterable, Sendable {
  /// Sends events through the HTTP API.
  case fanout
  /// Sends client events.
  case client
  /// Lets members join and leave.
  case presence
  /// Only connects and subscribes.
  case connect
  /// Loses all connections at once, and waits until the last is back.
  case storm

  var sendsEvents: Bool {
    switch self {
    case .fanout, .client, .presence: true
    case .connect, .storm: false
    }
  }

  /// Options about events that the mode has no use for.
  var foreignFlags: [Flag] {
    switch self {
    case .fanout: []
    case .client: [.benchBatch]
    case .presence: [.benchBatch, .dataSize]
    case .connect, .storm:
      [.benchRate, .benchBatch, .dataSize, .benchTime, .ramp, .histogram, .svg]
    }
  }

  var standardChannel: String {
    switch self {
    case .fanout, .connect, .storm: "bench"
    case .client: "private-bench"
    case .presence: "presence-bench"
    }
  }
}

/// The size of a load, within limits that are checked before memory is spent.
struct BenchLoad: Equatable, Sendable {
  var subscribers: Int
  var channels: Int
  /// Events a second, on all channels together.
  var rate: Double
  /// Events of one call.
  var batch: Int
  /// Size of an event's data, in bytes.
  var size: Int
  var time: Duration
  /// Time over which the rate grows; at most ``time``.
  var ramp: Duration
  /// Sockets opened a second.
  var connectionRate: Int

  /// Maximum number of events of a run: each has a number of the plan.
  static let eventLimit = 100_000_000
  /// Maximum memory for the account of deliveries: a bit for each event and subscriber.
  static let accountLimit = 256 << 20
  static let longestTime = Duration.seconds(24 * 3600)
  /// Client events of a connection that Pusher passes on in a second.
  static let clientEventLimit = 10

  init(_ typed: TypedArguments, mode: BenchMode) throws(UsageError) {
    for flag in mode.foreignFlags where typed.text(flag) != nil {
      throw UsageError("\(flag.spelling) has no use in the mode '\(mode.rawValue)'")
    }
    subscribers = typed.number(.subscribers)
    channels = typed.number(.channelCount)
    rate = try Self.rate(typed.word(.benchRate))
    batch = typed.number(.benchBatch)
    size = typed.number(.dataSize)
    time = typed.time(.benchTime)
    ramp = typed.duration(.ramp) ?? .zero
    connectionRate = typed.number(.connectionsPerSecond)
    let least = mode == .client ? 2 : 1
    guard subscribers >= channels * least else {
      let need = Quantities.words(least, of: "subscriber")
      throw UsageError(
        "--channels \(channels): each channel needs \(need), but --subscribers is \(subscribers)")
    }
    if mode == .client, size > ClientEvent.maximumDataLength {
      throw UsageError(
        "--size: the data of a client event has at most \(ClientEvent.maximumDataLength) bytes")
    }
    if mode.sendsEvents { try checkEvents() }
  }

  static func rate(_ text: String) throws(UsageError) -> Double {
    guard let rate = Quantities.rate(text), rate >= 0.01, rate <= 1_000_000 else {
      throw UsageError("--rate: '\(text)' is not a number of events a second, such as 50 or 0.5")
    }
    return rate
  }

  /// Number of events of the plan, rounded up; infinite for absurd values.
  private var eventCount: Double { rate * time.inSeconds }

  private func checkEvents() throws(UsageError) {
    guard time <= Self.longestTime else {
      throw UsageError("--time: a run sends for at most \(Self.longestTime.inWords)")
    }
    guard ramp <= time else {
      throw UsageError("--ramp \(ramp.inWords) is longer than --time \(time.inWords)")
    }
    guard eventCount <= Double(Self.eventLimit) else {
      throw UsageError(
        "--rate and --time make more than \(Self.eventLimit) events; the limit keeps their numbers "
          + "in memory")
    }
    let words = (eventCount / Double(channels) + Double(batch)) / 64 + 1
    guard words * 8 * Double(subscribers) <= Double(Self.accountLimit) else {
      throw UsageError(
        "the account of deliveries needs a bit for each event and subscriber, and more than "
          + "\(Quantities.words(size: Self.accountLimit)): lower --subscribers, --rate or --time, "
          + "or raise --channels")
    }
  }
}

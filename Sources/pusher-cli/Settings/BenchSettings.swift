internal import PusherCore

struct BenchSettings: CommandSettings {
  var mode: BenchMode
  var load: BenchLoad
  /// The connection and the channels of the subscribers.
  var subscription: SubscribeSettings
  /// Only for the mode that needs the HTTP API.
  var api: APIAccess?
  /// Encrypts events for encrypted channels.
  var encryptionKey: EncryptionMasterKey?
  var conditions: [BenchCondition]
  /// The condition of `--find`.
  var goal: BenchCondition?
  var baseline: BenchBaseline?
  var histogramFile: String?
  var csvFile: String?
  var svgFile: String?
  /// True if the terminal shows more than ASCII.
  var isUnicode: Bool
  var isJSON: Bool
  /// True if another machine may be loaded without a question.
  var isConfirmed: Bool
  var common: CommonSettings { subscription.common }

  init(_ resolved: inout Resolved) throws(UsageError) {
    let mode = try Self.mode(resolved.operands)
    self.mode = mode
    load = try BenchLoad(resolved.arguments, mode: mode)
    let name = resolved[.benchChannel].text ?? mode.standardChannel
    if Quantities.integer(name) != nil {
      throw UsageError(
        "-c is --channel, a name, and '\(name)' is a number: give --subscribers \(name)")
    }
    let channels = (1...load.channels).map { "\(name)-\($0)" }
    try Self.check(ChannelKind(channelName: name), name, mode)
    conditions = []
    for text in resolved[.failCondition].texts {
      conditions.append(try BenchCondition(parsing: text, mode: mode))
    }
    if let text = resolved[.find].text { goal = try BenchCondition(goal: text, mode: mode) }
    baseline = try resolved[.compare].text.map { path throws(UsageError) in
      try BenchBaseline(parsing: resolved.text(of: path, "--compare", limit: 1 << 20), path: path)
    }
    (histogramFile, csvFile) = (resolved[.histogram].text, resolved[.csv].text)
    svgFile = resolved[.svg].text
    isUnicode = resolved.environment.isUnicode
    isJSON = resolved[.output].text == OutputFormat.json.rawValue
    isConfirmed = resolved[.yes].isOn
    if mode == .fanout { api = try APIAccess(&resolved) }
    subscription = try SubscribeSettings(&resolved, channels: channels)
    // Otherwise each of thousands of sockets would read the files of --header again.
    subscription.fields = RequestFields(
      fixed: subscription.fields.all, all: subscription.fields.all)
    if case .secret(_, _, let key?) = subscription.authorization {
      encryptionKey = key
    } else if mode == .fanout, ChannelKind(channelName: name) == .encrypted {
      encryptionKey = try resolved.encryptionKey(for: channels)
    }
    try checkFiles()
    if mode == .presence {
      // Only the secret lets each join have a number.
      guard case .secret = subscription.authorization else {
        throw UsageError(
          "the mode 'presence' numbers the members, so it needs the secret: give --secret-file or "
            + "PUSHER_APP_SECRET")
      }
    }
  }

  /// The files to write, each with its option.
  var files: [(flag: Flag, path: String)] {
    [(Flag.histogram, histogramFile), (.csv, csvFile), (.svg, svgFile)].compactMap { flag, path in
      path.map { (flag, $0) }
    }
  }

  private func checkFiles() throws(UsageError) {
    for (index, file) in files.enumerated() {
      guard let other = files[..<index].first(where: { $0.path.isSame(as: file.path) }) else {
        continue
      }
      let flags = "\(other.flag.spelling) and \(file.flag.spelling)"
      throw UsageError("\(flags) name the same file; give each its own file")
    }
  }

  private static func mode(_ words: [String]) throws(UsageError) -> BenchMode {
    guard let word = words.first else { return .fanout }
    let modes = BenchMode.allCases.map(\.rawValue)
    guard words.count == 1, let mode = BenchMode(rawValue: word) else {
      let extra = words.count == 1 ? word : words[1]
      let clause = words.count == 1 ? Suggestion.clause(for: extra, in: modes) : ""
      throw UsageError(
        "bench takes one mode: \(modes.joined(separator: ", ")) (found '\(extra)')\(clause)",
        helpFor: .bench)
    }
    return mode
  }

  private static func check(
    _ kind: ChannelKind, _ name: String, _ mode: BenchMode
  ) throws(UsageError) {
    if mode == .client, kind != .private, kind != .presence {
      throw UsageError(
        "--channel: client events need a private or presence channel; '\(name)' is neither")
    }
    if mode == .presence, kind != .presence {
      throw UsageError("--channel: '\(name)' is no presence channel, such as presence-load")
    }
  }
}

/// The figures of an earlier run, for `--compare`.
struct BenchBaseline: Equatable, Sendable {
  /// By name.
  let figures: [String: Double]
  let load: JSONValue
  /// False if the run did not make its load.
  let isValid: Bool

  init(parsing text: String, path: String) throws(UsageError) {
    let value = try? JSONParser.parse(text)
    var figures: [String: Double] = [:]
    for figure in BenchFigure.all { figures[figure.name] = value?[figure.member]?.double }
    guard !figures.isEmpty, let load = value?["load"] else {
      throw UsageError("--compare: '\(path)' is not the output of 'bench -o json'")
    }
    (self.figures, self.load) = (figures, load)
    isValid = value?["valid"]?.bool ?? true
  }

  /// Returns the members of the load that differ from those of `other`.
  func differences(from other: JSONValue) -> [String] {
    let names = (load.members ?? []) + (other.members ?? [])
    var known: Set<String> = []
    return names.map(\.name).filter { known.insert($0).inserted && load[$0] != other[$0] }
  }
}

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
    case .connect, .storm: [.benchRate, .benchBatch, .dataSize, .benchTime, .histogram, .svg]
    }
  }

  /// Least subscribers of a channel.
  var leastSubscribers: Int { self == .client ? 2 : 1 }

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
  /// Time over which the subscribers come, and after that the rate grows.
  var ramp: Duration
  /// `nil` to open the sockets evenly over the ramp.
  private let pace: Int?
  /// Sockets opened a second.
  var connectionRate: Double { pace.map(Double.init) ?? Double(subscribers) / ramp.inSeconds }

  /// Maximum number of subscribers, typed or of `--find`.
  static let subscriberLimit = 100_000
  /// Maximum number of events of a run: each has a number of the plan.
  static let eventLimit = 100_000_000
  /// Maximum memory for the account of deliveries: a bit for each event and subscriber.
  static let accountLimit = 256 << 20
  static let longestTime = Duration.seconds(24 * 3600)
  /// Client events of a connection that Pusher passes on in a second.
  static let clientEventLimit = 10

  init(_ arguments: TypedArguments, mode: BenchMode) throws(UsageError) {
    for flag in mode.foreignFlags where arguments[flag].isGiven {
      throw UsageError("\(flag.spelling) has no use in the mode '\(mode.rawValue)'")
    }
    subscribers = arguments[.subscribers].number
    channels = arguments[.channelCount].number
    rate = try Quantities.rate(arguments[.benchRate].word, from: 0.01)
    batch = arguments[.benchBatch].number
    size = arguments[.dataSize].number
    time = arguments[.benchTime].time
    ramp = arguments[.ramp].duration ?? .zero
    let typed = arguments[.connectionsPerSecond]
    pace = typed.isGiven || ramp == .zero ? typed.number : nil
    guard mode.sendsEvents || ramp == .zero || pace == nil else {
      throw UsageError("--connections-per-second and --ramp both set the pace; give one")
    }
    let least = mode.leastSubscribers
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

  /// Number of events of the plan, rounded up; infinite for absurd values.
  private var eventCount: Double { rate * time.inSeconds }

  func checkEvents() throws(UsageError) {
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

/// One figure of `bench`: its name in `--fail`, and with its unit in `--output json`.
struct BenchFigure: Equatable, Sendable {
  enum Unit: Equatable, Sendable {
    case count, rate, percent, bytes
    /// Milliseconds.
    case time
  }

  let name: String
  let unit: Unit
  /// The modes that measure the figure.
  private let modes: [BenchMode]

  /// The member of the JSON output.
  var member: String { unit == .time ? name + "_ms" : name }

  func isMeasured(in mode: BenchMode) -> Bool { modes.contains(mode) }

  /// True for figures that are known of a run that did not make its load.
  var isOfLoad: Bool {
    ["sent", "failed", "connected", "unconnected", "errors"].contains { $0.isSame(as: name) }
  }

  /// True if a larger value is the better one.
  var isBetterLarge: Bool {
    unit == .rate
      || ["sent", "expected", "delivered", "connected"].contains { $0.isSame(as: name) }
  }

  /// The steps of a connection with figures of their own, in order.
  static let steps = ["dial", "tls", "upgrade", "greeting", "subscription", "connect"]

  /// In the order of the output.
  static let all: [BenchFigure] = {
    let sending = BenchMode.allCases.filter(\.sendsEvents)
    func figures(
      _ unit: Unit, in modes: [BenchMode] = BenchMode.allCases, _ names: [String]
    ) -> [BenchFigure] {
      names.map { BenchFigure(name: $0, unit: unit, modes: modes) }
    }
    func times(of step: String) -> [String] { ["p50", "p99", "max"].map { "\(step)_\($0)" } }
    let counts = [
      "sent", "failed", "expected", "delivered", "lost", "doubled", "out_of_order", "wrong",
      "losing_subscribers", "most_lost",
    ]
    return figures(.count, in: sending, counts)
      + figures(.rate, in: sending, ["events_per_second", "deliveries_per_second"])
      + figures(.time, in: sending, ["p50", "p90", "p99", "p999", "max"] + times(of: "late"))
      + figures(.count, ["connected", "unconnected"]) + figures(.rate, ["connects_per_second"])
      + figures(.time, steps.flatMap(times)) + figures(.time, in: [.storm], times(of: "back"))
      + figures(.count, ["reconnects", "gaps", "errors"]) + figures(.percent, ["cpu"])
      + figures(.bytes, ["memory_per_socket"])
  }()

  /// Finds the figure of a name, also of the JSON output; `p99.9` is another spelling of `p999`.
  static func named(_ name: String) -> BenchFigure? {
    let name = ["p99.9": "p999", "p99.9_ms": "p999_ms"][name] ?? name
    return all.first { $0.name.isSame(as: name) || $0.member.isSame(as: name) }
  }
}

/// A condition of `--fail` or `--find`, such as `lost>0` or `p99>200ms`.
struct BenchCondition: Equatable, Sendable {
  /// A longer operator stands before its beginning.
  private static let operators: [(sign: String, holds: @Sendable (Double, Double) -> Bool)] = [
    ("<=", { $0 <= $1 }), (">=", { $0 >= $1 }), ("==", { $0 == $1 }), ("!=", { $0 != $1 }),
    ("<", { $0 < $1 }), (">", { $0 > $1 }),
  ]

  let figure: BenchFigure
  /// The sign of one of ``operators``.
  private let comparison: String
  /// In the unit of the figure.
  let value: Double
  /// As it was typed.
  let text: String
  /// The condition that was probably meant, if this one holds for good values.
  let opposite: String?

  init(parsing text: String, mode: BenchMode, of flag: Flag = .failCondition) throws(UsageError) {
    let flag = flag.spelling
    let start = text.utf8.firstIndex { "<>=!".utf8.contains($0) } ?? text.endIndex
    let rest = text[start...]
    guard
      let comparison = Self.operators.map(\.sign).first(where: String(rest).begins(with:))
    else {
      throw UsageError(
        "\(flag): '\(text)' is not a figure, an operator and a value, such as 'lost>0'")
    }
    let name = ASCII.trimmed(text[..<start]) { $0 == 0x20 }
    guard let figure = BenchFigure.named(name) else {
      let names = BenchFigure.all.filter { $0.isMeasured(in: mode) }.map(\.name)
      let clause = Suggestion.clause(for: name, in: names)
      let list = names.joined(separator: ", ")
      throw UsageError("\(flag): there is no figure '\(name)'\(clause) (the figures: \(list))")
    }
    guard figure.isMeasured(in: mode) else {
      throw UsageError("\(flag): the mode '\(mode.rawValue)' has no figure '\(figure.name)'")
    }
    let typed = ASCII.trimmed(Substring(rest.utf8.dropFirst(comparison.utf8.count))) {
      $0 == 0x20
    }
    // The name in JSON has the unit, so its value needs none.
    let isBare = figure.unit == .time && name.ends(with: "_ms")
    guard
      let value = (isBare ? Quantities.decimal(typed) : nil) ?? Self.value(typed, of: figure.unit)
    else {
      throw UsageError("\(flag): '\(typed)' is not \(Self.words(for: figure.unit))")
    }
    (self.figure, self.comparison, self.value, self.text) = (figure, comparison, value, text)
    let (good, bad) = figure.isBetterLarge ? (">", "<") : ("<", ">")
    opposite = comparison.dropping(prefix: good).map { "\(name)\(bad)\($0)\(typed)" }
  }

  /// Parses the condition of `--find`, which must hold for good figures.
  init(goal text: String, mode: BenchMode) throws(UsageError) {
    try self.init(parsing: text, mode: mode, of: .find)
    guard opposite != nil || comparison == "==" else {
      throw UsageError(
        "--find: '\(text)' holds for bad figures; give a goal such as 'p99<50ms' or 'lost==0'")
    }
  }

  /// Returns whether the condition holds; an unknown value is no reason to pass.
  func holds(for measured: Double?) -> Bool {
    guard let measured else { return true }
    return Self.operators.contains { $0.sign == comparison && $0.holds(measured, value) }
  }

  private static func value(_ text: String, of unit: BenchFigure.Unit) -> Double? {
    switch unit {
    case .count, .rate: Quantities.decimal(text)
    case .percent:
      Quantities.decimal(
        text.ends(with: "%") ? String(decoding: text.utf8.dropLast(), as: UTF8.self) : text)
    case .bytes: Quantities.size(text).map(Double.init)
    case .time: Quantities.duration(text).map { $0.inSeconds * 1000 }
    }
  }

  private static func words(for unit: BenchFigure.Unit) -> String {
    switch unit {
    case .count, .rate: "a number"
    case .percent: "a percentage such as 90%"
    case .bytes: "a size such as 64k"
    case .time: "a time such as 200ms"
    }
  }
}

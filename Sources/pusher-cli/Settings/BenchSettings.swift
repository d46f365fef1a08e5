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

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    let mode = try Self.mode(typed.operands)
    self.mode = mode
    load = try BenchLoad(typed, mode: mode)
    let name = typed.text(.benchChannel) ?? mode.standardChannel
    if Quantities.integer(name) != nil {
      throw UsageError(
        "-c is --channel, a name, and '\(name)' is a number: give --subscribers \(name)")
    }
    let channels = (1...load.channels).map { "\(name)-\($0)" }
    try Self.check(ChannelKind(channelName: name), name, mode)
    conditions = []
    for text in typed.texts(.failCondition) {
      conditions.append(try BenchCondition(parsing: text, mode: mode))
    }
    baseline = try typed.text(.compare).map { path throws(UsageError) in
      try BenchBaseline(parsing: reader.text(of: path, "--compare", limit: 1 << 20), path: path)
    }
    (histogramFile, csvFile) = (typed.text(.histogram), typed.text(.csv))
    svgFile = typed.text(.svg)
    isUnicode = reader.environment.isUnicode
    isJSON = typed.text(.output) == OutputFormat.json.rawValue
    isConfirmed = typed.isOn(.yes)
    if mode == .fanout { api = try reader.apiAccess() }
    subscription = try SubscribeSettings(&reader, channels: channels)
    // Otherwise each of thousands of sockets would read the files of --header again.
    subscription.fields = RequestFields(
      fixed: subscription.fields.all, all: subscription.fields.all)
    if case .secret(_, _, let key?) = subscription.authorization {
      encryptionKey = key
    } else if mode == .fanout, ChannelKind(channelName: name) == .encrypted {
      encryptionKey = try reader.encryptionKey(for: channels[0])
    }
    try checkFiles()
    if mode == .presence, case .secret = subscription.authorization {
      // Only the secret lets each join have a number.
    } else if mode == .presence {
      throw UsageError(
        "the mode 'presence' numbers the members, so it needs the secret: give --secret-file or "
          + "PUSHER_APP_SECRET")
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

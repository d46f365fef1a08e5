internal import PusherCore

struct TriggerSettings: CommandSettings {
  enum Payload: Equatable, Sendable {
    case event(String, data: String)
    /// JSON lines on standard input, each an event; `event` is the default name.
    case lines(event: String?)
  }

  var access: APIAccess
  var payload: Payload
  /// Without duplicates, in the order typed; empty if the lines name their channels.
  var channels: [String]
  var encryptionKey: EncryptionMasterKey?
  /// The connection that does not get the event.
  var socketID: String?
  var info: [String]
  var batchSize: Int
  var rate: Double?
  /// Speed of a replay, as a factor; `nil` for no waiting.
  var speed: Double?
  var isDryRun: Bool
  var common: CommonSettings

  /// Maximum size of data, in bytes; servers accept far less and say so.
  static let dataLimit = 16 << 20
  /// Maximum length of an event name that servers accept.
  static let eventLimit = 200

  init(_ resolved: inout Resolved) throws(UsageError) {
    let readsLines = resolved.operands == ["-"] && resolved[.data].text == nil
    try Self.refuseExtraWords(resolved)
    channels = try resolved.channels(resolved[.channel].texts, toUsers: true)
    guard !channels.isEmpty || readsLines else { throw UsageError("no channel: give --channel") }
    let event = try Self.event(resolved)
    guard event != nil || readsLines else { throw UsageError("no event name: give --event") }
    if let event, event.begins(with: ClientEvent.prefix) {
      resolved.warn(TriggerSettings.clientEventWarning(event))
    }
    socketID = try resolved.socketID()
    info = try resolved.info()
    batchSize = resolved[.batch].number
    rate = try resolved[.rate].text.map { text throws(UsageError) in
      try Quantities.rate(text, from: .leastNonzeroMagnitude)
    }
    speed = try Self.speed(resolved)
    isDryRun = resolved[.dryRun].isOn
    access = try APIAccess(&resolved)
    // No server is asked, so none is waited for.
    if isDryRun { access.connection.isLocal = false }
    if readsLines {
      guard info.isEmpty else {
        throw UsageError("--info works only for a single event, not for JSON lines")
      }
      payload = .lines(event: event)
    } else {
      for flag in [Flag.batch, .rate, .speed] where resolved[flag].text != nil {
        throw UsageError("\(flag.spelling) is for lines on standard input: give - as the data")
      }
      payload = .event(event ?? "", data: try Self.data(&resolved))
    }
    encryptionKey = try resolved.encryptionKey(for: channels, orIfThere: readsLines)
    common = CommonSettings(resolved)
  }

  private static func event(_ resolved: Resolved) throws(UsageError) -> String? {
    guard let event = resolved[.event].text else { return nil }
    guard event.count <= eventLimit else {
      throw UsageError("--event has \(event.count) characters; the limit is \(eventLimit)")
    }
    return event
  }

  static func clientEventWarning(_ event: String) -> String {
    "'\(event)' is sent as a server event; to send client events (Laravel's whispers), use "
      + "'pusher-cli subscribe --stdin'"
  }

  private static func speed(_ resolved: Resolved) throws(UsageError) -> Double? {
    guard let text = resolved[.speed].text else { return nil }
    let number = text.hasSuffix("x") ? text.dropLast() : text[...]
    guard let speed = Quantities.decimal(String(number)), speed >= 0.001, speed <= 1_000_000 else {
      throw UsageError(
        "--speed: '\(text)' is not a factor from 0.001 to 1000000, such as 2.5 or 10x")
    }
    return speed
  }

  private static func data(_ resolved: inout Resolved) throws(UsageError) -> String {
    if resolved.operands.first != nil, resolved[.data].text != nil {
      throw UsageError("the data is given twice: as an argument and with --data; give one")
    }
    guard let data = resolved.operands.first ?? resolved[.data].text else {
      throw UsageError(
        "no data: give it as an argument, or @FILE, or @- for standard input; - reads JSON lines")
    }
    guard data != "-" else {
      throw UsageError("to send standard input as the data, give @-")
    }
    let text = try resolved.textOrFile(data, "--data", limit: dataLimit)
    resolved.warnOfBrokenJSON(text, "the data", sentAs: "a text")
    return text
  }

  /// Refuses more than the data, and says which options the other words are.
  private static func refuseExtraWords(_ resolved: Resolved) throws(UsageError) {
    guard resolved.operands.count > 1 else { return }
    let missing = [
      resolved[.triggerChannel].text == nil ? "-c" : nil,
      resolved[.triggerEvent].text == nil ? "-e" : nil,
    ].compactMap { $0 }
    let options = zip(missing, resolved.operands).map { "\($0) \($1)" }.joined(separator: " ")
    throw UsageError(
      "trigger takes one argument, the data"
        + (missing.isEmpty
          ? " (found '\(resolved.operands[1])' too); quote it as one" : ": give \(options)"))
  }
}

/// The settings of `channels`, `users` and `terminate`.
struct InspectSettings: CommandSettings {
  enum Call: Equatable, Sendable {
    case channels(filter: String?)
    case channel(String)
    case users(channel: String)
    case terminate(user: String)
  }

  var access: APIAccess
  var call: Call
  var info: [String]
  var common: CommonSettings

  init(_ resolved: inout Resolved) throws(UsageError) {
    if resolved.operands.count > 1 {
      throw UsageError(
        "\(resolved.command.rawValue) takes one argument (found '\(resolved.operands[1])' too)",
        helpFor: resolved.command)
    }
    info = try resolved.info()
    call = try Self.call(&resolved, info)
    access = try APIAccess(&resolved)
    common = CommonSettings(resolved)
  }

  private static func call(
    _ resolved: inout Resolved, _ info: [String]
  ) throws(UsageError) -> Call {
    let asksUsers = info.contains { $0 == "user_count" }
    switch (resolved.command, resolved.operands.first) {
    case (.users, let name?):
      let channel = try resolved.channels([name])[0]
      guard ChannelKind(channelName: channel) == .presence else {
        throw UsageError("'\(channel)' has no users: give a channel that begins with presence-")
      }
      return .users(channel: channel)
    case (.users, nil): throw UsageError("no channel: give one", helpFor: .users)
    case (.terminate, let user?): return .terminate(user: user)
    case (.terminate, nil): throw UsageError("no user: give an id", helpFor: .terminate)
    case (_, let name?):
      if resolved[.prefix].text != nil {
        throw UsageError("--prefix filters the list of channels; leave it out to show '\(name)'")
      }
      let channel = try resolved.channels([name])[0]
      guard !asksUsers || ChannelKind(channelName: channel) == .presence else {
        throw UsageError("--info user_count works only for channels that begin with presence-")
      }
      return .channel(channel)
    case (_, nil):
      let prefix = resolved[.prefix].text
      guard !asksUsers || prefix?.hasPrefix("presence-") == true else {
        throw UsageError("--info user_count needs --prefix presence-")
      }
      if info.contains(where: { $0 == "cache" }) {
        throw UsageError("--info cache needs the name of one channel")
      }
      return .channels(filter: prefix)
    }
  }
}

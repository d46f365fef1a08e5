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

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    let readsLines = typed.operands == ["-"] && typed.text(.data) == nil
    try Self.refuseExtraWords(typed)
    channels = try reader.channels(typed.texts(.channel), toUsers: true)
    guard !channels.isEmpty || readsLines else { throw UsageError("no channel: give --channel") }
    let event = try Self.event(typed)
    guard event != nil || readsLines else { throw UsageError("no event name: give --event") }
    if let event, event.begins(with: ClientEvent.prefix) {
      reader.warn(TriggerSettings.clientEventWarning(event))
    }
    socketID = try reader.socketID()
    info = try reader.info()
    batchSize = typed.number(.batch)
    rate = try Self.rate(typed)
    speed = try Self.speed(typed)
    isDryRun = typed.isOn(.dryRun)
    access = try reader.apiAccess()
    // No server is asked, so none is waited for.
    if isDryRun { access.connection.isLocal = false }
    if readsLines {
      guard info.isEmpty else {
        throw UsageError("--info works only for a single event, not for JSON lines")
      }
      payload = .lines(event: event)
    } else {
      for flag in [Flag.batch, .rate, .speed] where typed.text(flag) != nil {
        throw UsageError("\(flag.spelling) is for lines on standard input: give - as the data")
      }
      payload = .event(event ?? "", data: try Self.data(typed, &reader))
    }
    encryptionKey = try reader.encryptionKey(
      for: channels.first { ChannelKind(channelName: $0) == .encrypted }, orIfThere: readsLines)
    common = reader.common
  }

  private static func event(_ typed: TypedArguments) throws(UsageError) -> String? {
    guard let event = typed.text(.event) else { return nil }
    guard event.count <= eventLimit else {
      throw UsageError("--event has \(event.count) characters; the limit is \(eventLimit)")
    }
    return event
  }

  static func clientEventWarning(_ event: String) -> String {
    "'\(event)' is sent as a server event; to send client events (Laravel's whispers), use "
      + "'pusher-cli subscribe --stdin'"
  }

  private static func rate(_ typed: TypedArguments) throws(UsageError) -> Double? {
    guard let text = typed.text(.rate) else { return nil }
    guard let rate = Quantities.rate(text), rate > 0, rate <= 1_000_000 else {
      throw UsageError("--rate: '\(text)' is not a number of events a second, such as 50 or 0.5")
    }
    return rate
  }

  private static func speed(_ typed: TypedArguments) throws(UsageError) -> Double? {
    guard let text = typed.text(.speed) else { return nil }
    guard let speed = Quantities.decimal(text), speed >= 0.001, speed <= 1_000_000 else {
      throw UsageError("--speed: '\(text)' is not a factor from 0.001 to 1000000, such as 1 or 2.5")
    }
    return speed
  }

  private static func data(
    _ typed: TypedArguments, _ reader: inout SettingsReader
  ) throws(UsageError) -> String {
    if typed.operands.first != nil, typed.text(.data) != nil {
      throw UsageError("the data is given twice: as an argument and with --data; give one")
    }
    guard let data = typed.operands.first ?? typed.text(.data) else {
      throw UsageError(
        "no data: give it as an argument, or @FILE, or @- for standard input; - reads JSON lines")
    }
    guard data != "-" else {
      throw UsageError("to send standard input as the data, give @-")
    }
    let text = try reader.textOrFile(data, "--data", limit: dataLimit)
    reader.warnOfBrokenJSON(text, "the data", sentAs: "a text")
    return text
  }

  /// Refuses more than the data, and says which options the other words are.
  private static func refuseExtraWords(_ typed: TypedArguments) throws(UsageError) {
    guard typed.operands.count > 1 else { return }
    let missing = [
      typed.text(.triggerChannel) == nil ? "-c" : nil,
      typed.text(.triggerEvent) == nil ? "-e" : nil,
    ].compactMap { $0 }
    let options = zip(missing, typed.operands).map { "\($0) \($1)" }.joined(separator: " ")
    throw UsageError(
      "trigger takes one argument, the data"
        + (missing.isEmpty
          ? " (found '\(typed.operands[1])' too); quote it as one" : ": give \(options)"))
  }
}

extension SettingsReader {
  /// Warns of a text that was probably meant as JSON.
  mutating func warnOfBrokenJSON(_ text: String, _ name: String, sentAs kind: String) {
    let first = text.utf8.first { $0 > 0x20 }
    guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return }
    do throws(JSONError) {
      _ = try JSONParser.parse(text)
    } catch {
      if case .tooDeep = error { return }
      warn("\(name) begins like JSON and is none (\(error)): it is sent as \(kind)")
    }
  }
}

internal import PusherCore

/// The checked settings of `trigger`.
struct TriggerSettings: CommandSettings {
  /// What is sent.
  enum Payload: Equatable, Sendable {
    /// One event with this name and data.
    case event(String, data: String)
    /// The events on standard input, one JSON line each, under their own names or this one.
    case lines(event: String?)
  }

  var access: APIAccess
  var payload: Payload
  /// Each once, in the order typed; none for lines that go where they say.
  var channels: [String]
  /// Encrypts the data for encrypted channels.
  var encryptionKey: EncryptionMasterKey?
  /// The connection that does not get the event.
  var socketID: String?
  /// What the answer shall tell about the channels.
  var info: [String]
  /// The most events in one call.
  var batchSize: Int
  /// The most events a second; nil for as many as the server takes.
  var rate: Double?
  /// How much faster than it was recorded a recording is sent; `nil` for at once.
  var speed: Double?
  /// Whether requests are shown instead of sent.
  var isDryRun: Bool
  var common: CommonSettings

  /// The most bytes of data that are read; servers take far less and say so.
  static let dataLimit = 16 << 20
  /// The longest event name servers take.
  static let eventLimit = 200
}

extension TriggerSettings {
  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    let readsLines = typed.operands == ["-"] && typed.text(.data) == nil
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
    if readsLines {
      guard info.isEmpty else {
        throw UsageError("--info asks about one event; with lines there is no place for the answer")
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

  /// What to say of an event that goes to clients in the name of a client.
  static func clientEventWarning(_ event: String) -> String {
    "'\(event)' is sent as an event of the server; client events, Laravel's whispers, come from clients: "
      + "'pusher-cli subscribe --stdin' sends them"
  }

  /// `N` or `N/s`.
  private static func rate(_ typed: TypedArguments) throws(UsageError) -> Double? {
    guard let text = typed.text(.rate) else { return nil }
    let number = text.hasSuffix("/s") ? text.dropLast(2) : text[...]
    let isPlain = number.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
    guard isPlain, let rate = Double(number), rate > 0, rate <= 1_000_000 else {
      throw UsageError("--rate: '\(text)' is not a number of events a second, such as 50 or 0.5")
    }
    return rate
  }

  /// A factor, such as 1 or 0.5.
  private static func speed(_ typed: TypedArguments) throws(UsageError) -> Double? {
    guard let text = typed.text(.speed) else { return nil }
    let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
    guard isPlain, let speed = Double(text), speed >= 0.001, speed <= 1_000_000 else {
      throw UsageError("--speed: '\(text)' is not a factor from 0.001 to 1000000, such as 1 or 2.5")
    }
    return speed
  }

  private static func data(
    _ typed: TypedArguments, _ reader: inout SettingsReader
  ) throws(UsageError) -> String {
    if typed.operands.count > 1 {
      throw UsageError(
        "one argument is the data (found '\(typed.operands[1])' too); quote it as one")
    }
    if typed.operands.first != nil, typed.text(.data) != nil {
      throw UsageError("the data is there twice: as an argument and as --data; give one")
    }
    guard let data = typed.operands.first ?? typed.text(.data) else {
      throw UsageError(
        "no data: give it as an argument, or @FILE, or @- for standard input; - reads JSON lines")
    }
    guard data != "-" else {
      throw UsageError("to send what standard input holds, give @- as the data")
    }
    return try reader.textOrFile(data, "--data", limit: dataLimit)
  }
}

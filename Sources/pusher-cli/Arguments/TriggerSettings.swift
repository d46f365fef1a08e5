/// Everything `trigger` needs to know, checked.
struct TriggerSettings: Equatable, Sendable {
  /// The HTTP API's address.
  var connection: ConnectionSettings
  var appID: String
  var secret: Secret
  /// At least one, each once, in the order typed.
  var channels: [String]
  var event: String
  var data: String
  /// The connection that does not get the event.
  var socketID: String?
  var verbosity: Verbosity
  /// Where protocol messages are written besides.
  var traceFile: String?
  /// To be said before the event is sent.
  var warnings: [String]

  /// The most bytes of data that are read; servers take far less and say so.
  static let dataLimit = 16 << 20
  /// The longest event name servers take.
  static let eventLimit = 200
}

extension TriggerSettings {
  /// Resolves what was typed against the environment.
  ///
  /// - Throws: ``UsageError`` for the first setting that is missing or wrong.
  init(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) {
    var reader = SettingsReader(typed, environment: environment, files: files)
    channels = try reader.channels(typed.texts(.channel))
    guard !channels.isEmpty else { throw UsageError("no channel: give --channel") }
    event = try Self.event(typed)
    if let id = typed.text(.socketID) { try Self.checkSocketID(id) }
    socketID = typed.text(.socketID)

    let source = try reader.source(.api)
    connection = try reader.connection(.api, source)
    let typedID = typed.text(.appID).map { Setting(origin: "--app-id", value: $0) }
    guard let appID = typedID ?? source.appID else {
      throw UsageError("no app id: give --app-id or PUSHER_APP_ID")
    }
    try reader.requireWord(appID, what: "app id")
    self.appID = appID.value
    guard let secret = try reader.secret(source) else {
      throw UsageError("no secret: give --secret-file or PUSHER_APP_SECRET")
    }
    self.secret = secret
    data = try Self.data(typed, &reader)
    verbosity = reader.verbosity
    traceFile = typed.text(.trace)
    warnings = reader.warnings
  }

  private static func event(_ typed: TypedArguments) throws(UsageError) -> String {
    guard let event = typed.text(.event) else { throw UsageError("no event name: give --event") }
    guard event.count <= eventLimit else {
      throw UsageError("--event has \(event.count) characters; the limit is \(eventLimit)")
    }
    return event
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
      throw UsageError("no data: give it as an argument, or @FILE, or @- for standard input")
    }
    guard data != "-" else {
      throw UsageError("to send what standard input holds, give @- as the data")
    }
    return try reader.textOrFile(data, "--data", limit: dataLimit)
  }

  /// Two numbers with a full stop between them.
  private static func checkSocketID(_ id: String) throws(UsageError) {
    let parts = id.split(separator: ".", omittingEmptySubsequences: false)
    let areNumbers = parts.allSatisfy { !$0.isEmpty && Quantities.integer(String($0)) != nil }
    guard parts.count == 2, areNumbers else {
      throw UsageError("--socket-id: '\(id)' is not a socket id such as 123.456")
    }
  }
}

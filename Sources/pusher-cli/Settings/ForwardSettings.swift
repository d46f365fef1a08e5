internal import PusherCore

/// What gets the events in place of the output, or besides it.
enum HandlerSettings: Equatable, Sendable {
  case command(HookSettings)
  case receiver(ForwardSettings)

  /// Whether events are printed besides.
  var prints: Bool {
    switch self {
    case .command(let command): command.prints
    case .receiver(let receiver): receiver.prints
    }
  }
}

/// The receiver of `--forward` and how events are sent to it.
struct ForwardSettings: Equatable, Sendable {
  /// What an event's `Idempotency-Key` is made of, where it has no id of its own.
  enum KeyRule: String, CaseIterable, Sendable {
    /// The run, and the event's number in it: each event has another one.
    case run
    /// The line and the second in which the event came: two runs that get it make the same one.
    case content
  }

  /// An http or https URL; user information is from a file.
  var url: HTTPURL
  /// Fields besides those that tell of the event.
  var headers: [NamedValue]
  /// How many events may be on their way at once.
  var jobs: Int
  /// How long an event is tried; `nil` for as long as it takes.
  var patience: Duration?
  /// Takes the lines of events that were not delivered.
  var deadFile: String?
  var keyRule = KeyRule.run
  /// Whether events are printed besides.
  var prints: Bool

  /// Fields that say how long a request is, or which event it is.
  static let ownFields = [
    "Idempotency-Key", "Pusher-Event", "Pusher-Channel", "Content-Length", "Transfer-Encoding",
    "Connection",
  ]
}

extension SettingsReader {
  /// The command of `--exec`, or the receiver of `--forward`.
  mutating func handler() throws(UsageError) -> HandlerSettings? {
    if let url = typed.text(.forward) { return .receiver(try receiver(url)) }
    guard let command = typed.text(.exec) else { return nil }
    return .command(
      HookSettings(
        command: command, jobs: typed.number(.execJobs), timeout: typed.duration(.execTimeout),
        onFailure: try choice(.execFail), prints: typed.isOn(.tee)))
  }

  private mutating func receiver(_ url: String) throws(UsageError) -> ForwardSettings {
    let headers = try headers(.forwardHeader)
    for name in headers.map({ $0.name.lowercased() }) {
      guard let own = ForwardSettings.ownFields.first(where: { $0.lowercased() == name }) else {
        continue
      }
      throw UsageError("--forward-header: \(own) is set by pusher-cli for each event")
    }
    return ForwardSettings(
      url: try receiverURL(url), headers: headers, jobs: typed.number(.forwardJobs),
      patience: typed.duration(.forwardTimeout), deadFile: typed.text(.forwardDead),
      keyRule: try choice(.forwardKey),
      prints: typed.isOn(.tee))
  }

  /// The URL that was given, or stands in the file that `@FILE` names.
  private mutating func receiverURL(_ given: String) throws(UsageError) -> HTTPURL {
    let text = try textOrFile(given, "--forward", limit: 65_536)
    let url: HTTPURL
    do throws(HTTPError) {
      url = try HTTPURL(parsing: text)
    } catch {
      throw UsageError("--forward: \(error)")
    }
    guard url.scheme == .http || url.scheme == .https else {
      throw UsageError(
        "--forward: the URL begins with \(url.scheme.rawValue)://; it needs http or https")
    }
    guard url.userInfo == nil || given.hasPrefix("@") else {
      throw UsageError(
        "--forward: a password in the URL would show in ps; put the URL into a file and give "
          + "@FILE, or use --forward-header @FILE")
    }
    return url
  }
}

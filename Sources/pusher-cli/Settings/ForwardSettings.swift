internal import PusherCore

/// Gets the events instead of the output, or besides it.
enum HandlerSettings: Equatable, Sendable {
  case command(HookSettings)
  case receiver(ForwardSettings)

  var prints: Bool {
    switch self {
    case .command(let command): command.prints
    case .receiver(let receiver): receiver.prints
    }
  }
}

struct ForwardSettings: Equatable, Sendable {
  /// http or https URL; user information comes from a file.
  var url: HTTPURL
  var headers: [NamedValue]
  var jobs: Int
  var patience: Duration?
  var deadFile: String?
  var prints: Bool

  static let ownFields = [
    "Idempotency-Key", "Pusher-Event", "Pusher-Channel", "Content-Length", "Transfer-Encoding",
    "Connection",
  ]
}

extension SettingsReader {
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
      throw UsageError("--forward-header: pusher-cli sets \(own) for each event; leave it out")
    }
    return ForwardSettings(
      url: try receiverURL(url), headers: headers, jobs: typed.number(.forwardJobs),
      patience: typed.duration(.forwardTimeout), deadFile: typed.text(.forwardDead),
      prints: typed.isOn(.tee))
  }

  private mutating func receiverURL(_ given: String) throws(UsageError) -> HTTPURL {
    let text = try textOrFile(given, "--forward", limit: 65_536)
    let url = try UsageError.explaining("--forward: ", try HTTPURL(parsing: text))
    guard url.scheme == .http || url.scheme == .https else {
      throw UsageError(
        "--forward: the URL must begin with http:// or https://, not \(url.scheme.rawValue)://")
    }
    guard url.userInfo == nil || given.hasPrefix("@") else {
      throw UsageError(
        "--forward: a password in the URL would show in ps; put the URL into a file and give "
          + "@FILE, or use --forward-header @FILE")
    }
    return url
  }
}

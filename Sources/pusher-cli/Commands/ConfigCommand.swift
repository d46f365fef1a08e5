internal import PusherCore

/// The settings of a command that have a value, each with its source.
struct ConfigSettings: CommandSettings {
  /// One setting; the value never holds a secret.
  struct Row: Equatable, Sendable {
    var name: String
    var value: String
    var origin: String
  }

  /// The words of `config` that are no command.
  static let words = ["path", "profiles"]

  var rows: [Row]
  var problem: UsageError?
  var common: CommonSettings

  init(_ resolved: inout Resolved) throws(UsageError) {
    rows = []
    if Set<Command>.working.contains(resolved.command) {
      do throws(UsageError) {
        rows = try Self.connectionRows(&resolved)
      } catch {
        problem = error
      }
    }
    rows += Self.optionRows(resolved)
    // A password in a host or a path is a mistake, but still a secret.
    for index in rows.indices { rows[index].value = Redaction.withoutPasswords(rows[index].value) }
    common = CommonSettings(resolved)
  }

  /// Returns the app, its server, and the addresses derived from them.
  private static func connectionRows(_ resolved: inout Resolved) throws(UsageError) -> [Row] {
    let source = try resolved.withOptions(resolved.source(.webSocket))
    let settings =
      [("key", source[.key].map(shortened)), ("secret", secretRow(resolved, source))]
      + CredentialSource.flags.dropFirst().map { flag in
        (flag == .appID ? "app id" : flag.name, source[flag])
      }
    var rows = settings.compactMap { name, setting in
      setting.map { Row(name: name, value: $0.value, origin: $0.origin) }
    }
    guard Set<Command>.client.contains(resolved.command) else { return rows }
    let dialled = try ConnectionSettings(&resolved, .webSocket, resolved.app(.webSocket))
    let api = try ConnectionSettings(&resolved, .api, resolved.app(.api))
    let server = HTTPURL(
      scheme: dialled.isSecure ? .wss : .ws, host: dialled.host, port: dialled.port)
    let key = Diagnostics.shortened(key: dialled.key)
    let addresses = [
      ("websocket", "\(server.place.dropLast())\(dialled.path)/app/\(key)"),
      ("http api", "\(api.apiURL.place)\(api.path)"),
    ]
    rows += addresses.map { .init(name: $0.0, value: $0.1, origin: "the above") }
    return rows
  }

  private static func shortened(_ key: Setting) -> Setting {
    Setting(origin: key.origin, value: Diagnostics.shortened(key: key.value))
  }

  /// Names the source of the secret, never its value.
  private static func secretRow(_ resolved: Resolved, _ source: CredentialSource) -> Setting? {
    if let file = resolved[.secretFile].setting { return file }
    return switch source.secret {
    case .text(_, let origin): Setting(origin: origin, value: "(set)")
    case .file(let path, let origin): Setting(origin: origin, value: path)
    case nil: nil
    }
  }

  /// Returns all options with a value or a default, and the variables that every program reads.
  private static func optionRows(_ resolved: Resolved) -> [Row] {
    var rows: [Row] = []
    for flag in Flag.of(resolved.command) where flag.role != .app {
      let value = resolved[flag]
      guard let shown = shown(value) else { continue }
      let origin = value.isSet ? value.origin : "default"
      rows.append(Row(name: flag.name, value: shown, origin: origin))
    }
    let proxies = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"]
    let general =
      (proxies + proxies.map { $0.lowercased() }).map { ($0, Disclosure.place) }
      + ["NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"].map { ($0, Disclosure.whole) }
    for (name, disclosure) in general {
      guard let value = resolved.environment[name] else { continue }
      rows.append(.init(name: name, value: disclosure.shown(value), origin: "environment"))
    }
    return rows
  }

  private static func shown(_ value: FlagValue) -> String? {
    let flag = value.flag
    if flag.value == .counter { return value.count == 0 ? nil : String(value.count) }
    guard flag.takesValue else {
      return value.choice == nil && !flag.isOnByDefault ? nil : String(value.isOn)
    }
    guard value.isGiven else { return value.value }
    return value.texts.map(flag.disclosure.shown).joined(separator: ", ")
  }

  /// Prints a table, or one JSON line per setting; reports an invalid setting on standard error.
  func print(isJSON: Bool, _ diagnostics: Diagnostics) -> ExitStatus {
    let status = diagnostics.print(isJSON ? lines : table)
    guard let problem else { return status }
    diagnostics.usage(problem)
    return .usage
  }

  private var lines: String {
    rows.map { row in
      let line: JSONValue = [
        "setting": .string(row.name), "value": .string(row.value), "source": .string(row.origin),
      ]
      return JSONWriter.text(line) + "\n"
    }.joined()
  }

  /// Maximum width of the value column; longer values are not aligned.
  private static let widest = 40

  private var table: String {
    func padded(_ text: String, to width: Int) -> String {
      text + String(repeating: " ", count: max(width - text.count, 0))
    }
    let shown = rows.map {
      ($0.name, Diagnostics.escaped($0.value), Diagnostics.escaped($0.origin))
    }
    let nameWidth = shown.map(\.0.count).max() ?? 0
    let valueWidth = shown.map(\.1.count).filter { $0 <= Self.widest }.max() ?? 0
    return shown.map { name, value, origin in
      "\(padded(name, to: nameWidth))  \(padded(value, to: valueWidth))  \(origin)\n"
    }.joined()
  }
}

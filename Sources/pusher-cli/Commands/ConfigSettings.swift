internal import PusherCore

/// The settings of a command that have a value, each with its source.
struct ConfigSettings: CommandSettings {
  /// One setting; the value never holds a secret.
  struct Row: Equatable, Sendable {
    var name: String
    var value: String
    var origin: String
  }

  var rows: [Row]
  var problem: UsageError?
  var common: CommonSettings

  init(_ reader: inout SettingsReader) throws(UsageError) {
    rows = []
    if Set<Command>.working.contains(reader.typed.command) {
      do throws(UsageError) {
        rows = try reader.connectionRows()
      } catch {
        problem = error
      }
    }
    rows += try reader.optionRows()
    // A password in a host or a path is a mistake, but still a secret.
    for index in rows.indices { rows[index].value = Redaction.withoutPasswords(rows[index].value) }
    common = reader.common
  }
}

extension SettingsReader {
  /// Returns the app, its server, and the addresses derived from them.
  fileprivate mutating func connectionRows() throws(UsageError) -> [ConfigSettings.Row] {
    let source = try source(.webSocket)
    let settings: [(String, Setting?)] = [
      ("key", (typed.setting(.key) ?? source.key).map(Self.shortened)),
      ("secret", secretRow(source)), ("app id", typed.setting(.appID) ?? source.appID),
      ("cluster", typed.setting(.cluster) ?? source.cluster),
      ("host", typed.setting(.host) ?? source.host), ("port", typed.setting(.port) ?? source.port),
      ("scheme", typed.setting(.scheme) ?? source.scheme),
      ("path", typed.setting(.path) ?? source.path),
    ]
    var rows = settings.compactMap { name, setting in
      setting.map { ConfigSettings.Row(name: name, value: $0.value, origin: $0.origin) }
    }
    guard Set<Command>.client.contains(typed.command) else { return rows }
    let dialled = try connection(.webSocket, source)
    let api = try connection(.api, try self.source(.api))
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
  private func secretRow(_ source: CredentialSource) -> Setting? {
    if let file = typed.setting(.secretFile) { return file }
    return switch source.secret {
    case .text(_, let origin): Setting(origin: origin, value: "(set)")
    case .file(let path, let origin): Setting(origin: origin, value: path)
    case nil: nil
    }
  }

  /// Returns all options with a value or a default, and the variables that every program reads.
  fileprivate func optionRows() throws(UsageError) -> [ConfigSettings.Row] {
    var rows: [ConfigSettings.Row] = []
    for flag in Flags.of(typed.command) where flag.role != .app {
      guard let value = shownValue(flag) else { continue }
      rows.append(.init(name: flag.name, value: value, origin: origin(of: flag)))
    }
    let proxies = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"]
    let general =
      (proxies + proxies.map { $0.lowercased() }).map { ($0, Disclosure.place) }
      + ["NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"].map { ($0, Disclosure.whole) }
    for (name, disclosure) in general {
      guard let value = environment[name] else { continue }
      rows.append(.init(name: name, value: disclosure.shown(value), origin: "environment"))
    }
    return rows
  }

  private func shownValue(_ flag: Flag) -> String? {
    if flag.value == .counter { return typed.count(flag) == 0 ? nil : String(typed.count(flag)) }
    guard flag.takesValue else {
      return typed.choice(flag) == nil && !flag.isOnByDefault ? nil : String(typed.isOn(flag))
    }
    let set = environment[flag].map(flag.disclosure.shown)
    if let set, typed.text(flag) == nil || typed.isWeak(flag) { return set }
    let texts = typed.texts(flag)
    guard !texts.isEmpty else { return typed.value(flag) }
    return texts.map(flag.disclosure.shown).joined(separator: ", ")
  }

  private func origin(of flag: Flag) -> String {
    if typed.isGiven(flag), !typed.isWeak(flag) { return typed.origin(flag) ?? flag.spelling }
    if let variable = flag.variable, environment[variable] != nil { return variable }
    return typed.origin(flag) ?? "default"
  }
}

internal import PusherCore
internal import PusherLines
internal import PusherServer

struct ListenSettings: Equatable, Sendable {
  /// Name or address; IPv6 without brackets.
  var host: String
  var port: UInt16
  /// A socket from the service manager, with the same host and port.
  var handed: HandedSocket?
  /// Shares the port with other servers that allow it too.
  var reusesPort = false
  var portFile: String?
  var onReady: String?

  /// Parses `HOST:PORT`, `[IPV6]:PORT` or `:PORT`; the last listens on this machine only.
  init(parsing text: String, of flag: Flag = .listen, example: Int = 6001) throws(UsageError) {
    let fault = UsageError(
      "\(flag.spelling): '\(text)' is not of the form HOST:PORT, such as 127.0.0.1:\(example)")
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { throw fault }
    let digits = String(text[text.index(after: colon)...])
    guard !digits.isEmpty, let port = Quantities.integer(digits).flatMap(UInt16.init(exactly:))
    else { throw fault }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard !host.isEmpty else { throw fault }
    } else if host.contains(":") {
      throw fault
    }
    guard host.isVisible(without: "/@?#") else { throw fault }
    self.host = host.isEmpty ? "127.0.0.1" : String(host)
    self.port = port
  }

  init(_ socket: HandedSocket) {
    (host, port) = (socket.address.host, socket.address.port)
    handed = socket
  }

  var address: ListenAddress {
    ListenAddress(host: host, port: port, reusesPort: reusesPort, handed: handed)
  }

  var isLoopback: Bool { Loopback.contains(host) }
  var reachable: String { Loopback.reachable(host) }
  func place(_ port: UInt16) -> String { Self.place(host, port) }
  func reachablePlace(_ port: UInt16) -> String { Self.place(reachable, port) }

  private static func place(_ host: String, _ port: UInt16) -> String {
    "\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }
}

extension SettingsReader {
  /// Returns the address of `--metrics`; `nil` without one.
  func monitoring() throws(UsageError) -> ListenSettings? {
    guard let text = typed.text(.metrics) else { return nil }
    return try ListenSettings(parsing: text, of: .metrics, example: 9464)
  }

  func listening() throws(UsageError) -> ListenSettings {
    var settings = try ListenSettings(parsing: typed.word(.listen))
    settings.portFile = typed.text(.portFile)
    settings.onReady = typed.text(.onReady)
    settings.reusesPort = typed.isOn(.reusePort)
    return settings
  }
}

/// The settings of `webhook listen`.
struct WebhookSettings: CommandSettings {
  var listen: ListenSettings
  var key: String
  var secret: Secret
  var count: Int?
  var timeout: Duration?
  var hasTimestamps: Bool
  /// All of these must hold for an event.
  var conditions: [WhereClause]
  /// One of these ends the run with failure.
  var failConditions: [WhereClause]
  var common: CommonSettings

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    try typed.requireWord("listen")
    try typed.refuse(Flag.ofWebhookSend, by: "webhook listen", of: "webhook send")
    listen = try reader.listening()
    (key, secret) = try reader.signer()
    count = typed.integer(.count)
    timeout = typed.duration(.timeout)
    hasTimestamps = typed.isOn(.timestamps)
    conditions = try reader.conditions(of: .whereExpression)
    failConditions = try reader.conditions(of: .failWhere)
    common = reader.common
  }
}

enum Loopback {
  /// Returns a host for clients on this machine; "any address" becomes a loopback address.
  static func reachable(_ host: String) -> String {
    ["0.0.0.0": "127.0.0.1", "::": "::1"][host] ?? host
  }

  /// Returns true for `localhost`, `::1` and addresses from 127.0.0.0/8.
  static func contains(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    // A name such as `127.example.com` may lead elsewhere; an address cannot.
    return host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == 0x2E || $0 &- 0x30 < 10 }
  }
}

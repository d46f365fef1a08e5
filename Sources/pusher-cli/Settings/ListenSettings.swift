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
      "\(flag.spelling): '\(Disclosure.address.shown(text))' is not of the form HOST:PORT, "
        + "such as 127.0.0.1:\(example)")
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
    "\(HTTPURL.bracketed(host)):\(port)"
  }

  static let handedVariables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

  /// Takes the sockets that a service manager passed to this process; see sd_listen_fds(3).
  ///
  /// One socket is for clients unless its name is `metrics`; two are `serve` and `metrics`.
  static func handedSockets(
    _ resolved: Resolved
  ) throws(UsageError) -> (server: HandedSocket?, metrics: HandedSocket?) {
    let (environment, files) = (resolved.environment, resolved.files)
    guard let process = environment["LISTEN_PID"], process == String(files.processID()),
      let number = environment["LISTEN_FDS"]
    else { return (nil, nil) }
    guard let count = Quantities.integer(number) else {
      throw UsageError("LISTEN_FDS: '\(number)' is not a number of sockets")
    }
    guard count > 0 else { return (nil, nil) }
    let names = (environment["LISTEN_FDNAMES"] ?? "")
      .split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard count == 1 || count == 2 && names.count == 2 && Set(names) == ["serve", "metrics"] else {
      throw UsageError(
        "LISTEN_FDS: found \(count) sockets; serve takes one, or two with FileDescriptorName=serve "
          + "and FileDescriptorName=metrics")
    }
    var sockets: (server: HandedSocket?, metrics: HandedSocket?)
    for (descriptor, name) in zip(Int32(3)..., names) {
      switch files.listeningSocket(descriptor) {
      case .success(let socket) where name == "metrics": sockets.metrics = socket
      case .success(let socket): sockets.server = socket
      case .failure(let fault):
        throw UsageError(
          "LISTEN_FDS: cannot listen on descriptor \(descriptor): \(fault); "
            + "serve takes ListenStream=ADDRESS:PORT with Accept=no")
      }
    }
    return sockets
  }

  /// Takes the address of `--listen`, or the socket that the service manager passed.
  init(_ resolved: inout Resolved, _ handed: HandedSocket? = nil) throws(UsageError) {
    // Runs of tests beside each other need a port each.
    let isForCommand = !resolved.operands.isEmpty && !resolved[.listen].isGiven
    self = try ListenSettings(parsing: isForCommand ? ":0" : resolved[.listen].word)
    if let handed {
      Self.warn(&resolved, unused: .listen, since: handed)
      if resolved[.reusePort].isOn {
        resolved.warn(
          "--reuse-port has no effect: the service manager passed a socket at \(handed.address)")
      }
      self = ListenSettings(handed)
    } else {
      reusesPort = resolved[.reusePort].isOn
    }
    portFile = resolved[.portFile].text
    onReady = resolved[.onReady].text
  }

  /// Takes the address of `--metrics`, or the socket that the service manager passed; `nil` without
  /// both.
  init?(metrics resolved: inout Resolved, _ handed: HandedSocket? = nil) throws(UsageError) {
    let typed = try resolved[.metrics].text.map { text throws(UsageError) in
      try ListenSettings(parsing: text, of: .metrics, example: 9464)
    }
    if let handed {
      Self.warn(&resolved, unused: .metrics, since: handed)
      self = ListenSettings(handed)
    } else if let typed {
      self = typed
      reusesPort = resolved[.reusePort].isOn
    } else {
      return nil
    }
  }

  private static func warn(
    _ resolved: inout Resolved, unused flag: Flag, since socket: HandedSocket
  ) {
    guard let text = resolved[flag].text else { return }
    resolved.warn(
      "\(flag.spelling) \(text) is ignored: "
        + "the service manager passed a socket at \(socket.address)")
  }

  /// Returns the value of `--listen` at which clients with the app's source find the server.
  ///
  /// Returns `nil` if the source does not say, and, with a warning, if it names another machine.
  static func served(_ resolved: inout Resolved) -> Setting? {
    let isSettled =
      resolved[.listen].isGiven || resolved[.apps].isGiven || resolved[.local].isOn
      || !resolved.operands.isEmpty
      || resolved.environment["LISTEN_FDS"] != nil
    // The app's own look-up reports a malformed source.
    guard resolved.command == .serve, !isSettled, let source = try? resolved.source(.webSocket),
      let named = source[.port] ?? source[.host]
    else { return nil }
    func warn(_ reason: String) {
      let usual = resolved[.listen].word
      resolved.warn("\(reason); serve listens on \(usual) (--listen sets another address)")
    }
    guard let host = source[.host], let loopback = Self.loopback(host.value) else {
      warn(
        source[.host].map { "\($0.origin) is '\($0.value)', which is not this machine" }
          ?? "\(named.origin) sets a port, but no host is set")
      return nil
    }
    guard let port = source[.port] else { return nil }
    guard let number = Quantities.integer(port.value), (1...65_535).contains(number) else {
      warn("\(port.origin): '\(port.value)' is not a port from 1 to 65535")
      return nil
    }
    warnOfScheme(&resolved, source, port)
    return Setting(origin: port.origin, value: "\(loopback):\(number)")
  }

  /// Warns if clients with the same source would use TLS, but the server has no certificate.
  private static func warnOfScheme(
    _ resolved: inout Resolved, _ source: CredentialSource, _ port: Setting
  ) {
    let scheme = source[.scheme]?.value.lowercased() ?? "https"
    guard scheme == "https" || scheme == "wss", !resolved[.tlsCert].isGiven else { return }
    let what =
      source[.scheme].map { "\($0.origin) is '\($0.value)'" }
      ?? "\(port.origin) sets a port without a scheme, which means https"
    resolved.warn(
      "\(what), but serve speaks http: set the scheme to http, or give --tls-cert and --tls-key")
  }

  /// Returns the host for `--listen` if `host` is this machine or all its addresses; else `nil`.
  private static func loopback(_ host: String) -> String? {
    switch host {
    case "localhost", "0.0.0.0": "127.0.0.1"
    case "::1", "[::1]", "::", "[::]": "[::1]"
    default: Loopback.contains(host) ? host : nil
    }
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

internal import PusherCore

/// Sockets that a service manager passed to `serve`; see sd_listen_fds(3).
struct HandedSockets {
  static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]
  private static let first: Int32 = 3
  private static let metricsName = "metrics"
  private static let serverNames: Set = ["serve", "metrics"]
  private(set) var server: HandedSocket?
  private(set) var metrics: HandedSocket?

  /// Takes the sockets that the variables describe, if they are for this process.
  ///
  /// One socket is for clients unless its name is `metrics`; two are `serve` and `metrics`.
  init(_ environment: Environment, _ files: FileAccess) throws(UsageError) {
    guard let process = environment["LISTEN_PID"], process == String(files.processID()),
      let number = environment["LISTEN_FDS"]
    else { return }
    guard let count = Quantities.integer(number) else {
      throw UsageError("LISTEN_FDS: '\(number)' is not a number of sockets")
    }
    guard count > 0 else { return }
    let names = (environment["LISTEN_FDNAMES"] ?? "")
      .split(separator: ":", omittingEmptySubsequences: false)
    guard
      count == 1
        || count == 2 && names.count == 2 && Set(names.map(String.init)) == Self.serverNames
    else {
      throw UsageError(
        "LISTEN_FDS: found \(count) sockets; serve takes one, or two with FileDescriptorName=serve "
          + "and FileDescriptorName=metrics")
    }
    for (descriptor, name) in zip(Self.first..., names) {
      let socket = try Self.socket(descriptor, files)
      if name == Self.metricsName { metrics = socket } else { server = socket }
    }
  }

  private static func socket(
    _ descriptor: Int32, _ files: FileAccess
  ) throws(UsageError) -> HandedSocket {
    switch files.listeningSocket(descriptor) {
    case .success(let socket): return socket
    case .failure(let fault):
      throw UsageError(
        "LISTEN_FDS: cannot listen on descriptor \(descriptor): \(fault); "
          + "serve takes ListenStream=ADDRESS:PORT with Accept=no")
    }
  }
}

extension SettingsReader {
  mutating func listening(_ handed: HandedSockets) throws(UsageError) -> ListenSettings {
    let typed = try listening()
    guard let socket = handed.server else { return typed }
    warn(unused: .listen, since: socket)
    if self.typed.isOn(.reusePort) {
      warn("--reuse-port has no effect: the service manager passed a socket at \(socket.address)")
    }
    var place = ListenSettings(socket)
    (place.portFile, place.onReady) = (typed.portFile, typed.onReady)
    return place
  }

  mutating func monitoring(_ handed: HandedSockets) throws(UsageError) -> ListenSettings? {
    var typed = try monitoring()
    guard let socket = handed.metrics else {
      typed?.reusesPort = self.typed.isOn(.reusePort)
      return typed
    }
    warn(unused: .metrics, since: socket)
    return ListenSettings(socket)
  }

  private mutating func warn(unused flag: Flag, since socket: HandedSocket) {
    guard let text = typed.text(flag) else { return }
    warn(
      "\(flag.spelling) \(text) is ignored: "
        + "the service manager passed a socket at \(socket.address)")
  }
}

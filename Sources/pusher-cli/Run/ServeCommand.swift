internal import PusherCore
internal import PusherServer

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Runs `serve`: the local server, until a signal ends it.
enum ServeCommand {
  /// Serves until a signal comes; the status tells why it could not begin.
  static func run(_ settings: ServeSettings, diagnostics: Diagnostics) -> ExitStatus {
    do {
      let loop = try EventLoop()
      let run = try ServeRun(settings, loop: loop, diagnostics: diagnostics)
      return run.run()
    } catch TransportError.tls(let error) {
      diagnostics.error("\(error)")
      return .usage
    } catch {
      diagnostics.error("\(error)")
      return .network
    }
  }
}

/// One run of `serve`.
private final class ServeRun {
  private let settings: ServeSettings
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let server: Server
  private var signal: Int32?
  private var timer: LoopTimer?

  /// How long the clients' goodbyes may take.
  private static let closeTime: Duration = .milliseconds(250)

  init(_ settings: ServeSettings, loop: EventLoop, diagnostics: Diagnostics) throws {
    self.settings = settings
    self.loop = loop
    self.diagnostics = diagnostics
    var application = Application(
      id: settings.appID, key: settings.key, secret: settings.secret.revealed)
    application.allowsClientEvents = settings.allowsClientEvents
    application.sendsSubscriptionCounts = settings.sendsSubscriptionCounts
    var options = ServerOptions(applications: [application])
    options.service = settings.service
    options.host = settings.host
    options.port = UInt16(clamping: settings.port)
    options.certificateFile = settings.certificate?.certificate
    options.keyFile = settings.certificate?.key
    server = try Server(options: options, random: SecureRandom.generator, loop: loop) { event in
      if diagnostics.isSaid(.info) { diagnostics.info(Redaction.redact("\(event)")) }
    }
  }

  func run() -> ExitStatus {
    Signals.ignoreBrokenPipes()
    let signals = Signals { [unowned self] in end($0) }
    if let signals { loop.add(signals) }
    guard writePortFile() else { return .output }
    announce()
    loop.run()
    if let signal { Signals.die(of: signal) }
    return .success
  }

  private func end(_ number: Int32) {
    signal = number
    server.stop { [loop] in loop.stop() }
    let timer = LoopTimer(deadline: loop.now.advanced(by: Self.closeTime)) { [loop] in
      loop.stop()
    }
    self.timer = timer
    loop.add(timer)
  }

  /// Says where the server is, and what stands for what nobody gave.
  private func announce() {
    let isSecure = settings.certificate != nil
    let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
    let place = "\(host):\(server.port)"
    let socket = "\(isSecure ? "wss" : "ws")://\(place)/app/\(settings.key)"
    diagnostics.notice("listening on \(isSecure ? "https" : "http")://\(place) (\(socket))")
    guard !settings.defaulted.isEmpty else { return }
    diagnostics.notice(
      "\(settings.defaulted.joined(separator: ", ")), as --local of subscribe and trigger takes them"
    )
  }

  /// Writes the port under another name first, so that a script that waits for the file finds it whole.
  private func writePortFile() -> Bool {
    guard let path = settings.portFile else { return true }
    let draft = "\(path).\(getpid())"
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    var isWritten = false
    if descriptor >= 0 {
      let text = Array("\(server.port)\n".utf8)
      isWritten = unsafe write(descriptor, text, text.count) == text.count
      isWritten = close(descriptor) == 0 && isWritten
    }
    if isWritten, unsafe rename(draft, path) == 0 { return true }
    let reason = unsafe String(cString: strerror(errno)).lowercased()
    unsafe unlink(draft)
    diagnostics.error("--port-file: cannot write '\(path)': \(reason)")
    return false
  }
}

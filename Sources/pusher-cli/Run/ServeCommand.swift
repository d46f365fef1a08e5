internal import PusherCore
internal import PusherServer

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
    if let path = settings.portFile, let reason = PortFile.write(server.port, to: path) {
      diagnostics.error("--port-file: cannot write '\(path)': \(reason)")
      return .output
    }
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
}

internal import PusherCore
internal import PusherServer

/// Runs `serve`: the local server, until a signal ends it.
enum ServeCommand {
  /// Serves until a signal comes; the status tells why it could not begin.
  static func run(_ settings: ServeSettings, diagnostics: Diagnostics) -> ExitStatus {
    do {
      let loop = try EventLoop()
      var log: EventLog?
      if settings.logsEvents {
        guard let opened = EventLog(settings, loop: loop, diagnostics: diagnostics) else {
          diagnostics.error("standard output is closed; there is nowhere to print events")
          return .output
        }
        log = opened
      }
      let run = try ServeRun(settings, log: log, loop: loop, diagnostics: diagnostics)
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
  private let log: EventLog?
  private let manager = ServiceManager(Environment.ofProcess())
  private var signal: Int32?

  /// How long the clients' goodbyes may take.
  private static let closeTime: Duration = .milliseconds(250)

  init(
    _ settings: ServeSettings, log: EventLog?, loop: EventLoop, diagnostics: Diagnostics
  ) throws {
    self.settings = settings
    self.diagnostics = diagnostics
    self.log = log
    self.loop = loop
    server = try Server(
      options: settings.serverOptions, random: SecureRandom.generator, loop: loop
    ) { event in
      log?.add(event)
      if event.isProblem {
        diagnostics.warning("\(event)")
      } else if diagnostics.isSaid(.info) {
        diagnostics.info(Redaction.redact("\(event)"))
      }
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
    if settings.printsEnvironment {
      let printed = diagnostics.print(settings.environmentBlock(port: server.port))
      guard printed == .success else { return printed }
    }
    manager.ready()
    manager.watch(loop)
    loop.run()
    log?.flush()
    if let signal { Signals.die(of: signal) }
    return log?.failure ?? .success
  }

  private func end(_ number: Int32) {
    signal = number
    manager.stopping()
    server.stop(patience: Self.closeTime) { [loop] in loop.stop() }
  }

  /// Says where the server is, and what stands for what nobody gave.
  private func announce() {
    let isSecure = settings.certificate != nil
    let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
    let place = "\(host):\(server.port)"
    let scheme = isSecure ? "wss" : "ws"
    for app in settings.apps {
      let socket = "\(scheme)://\(place)/app/\(app.key)"
      let name = settings.apps.count > 1 ? "app '\(app.id)', " : ""
      diagnostics.notice(
        "listening on \(isSecure ? "https" : "http")://\(place) (\(name)\(socket))")
    }
    guard !settings.defaulted.isEmpty else { return }
    diagnostics.notice(
      "\(settings.defaulted.joined(separator: ", ")), as \(settings.localOptions(port: server.port)) "
        + "of subscribe and trigger takes them")
  }
}

extension ServeSettings {
  /// What the server is made of.
  fileprivate var serverOptions: ServerOptions {
    var options = ServerOptions(applications: apps.map(\.application))
    options.service = service
    options.faults = faults
    options.dialect = dialect
    options.limits = dialect.limits
    options.acceptsCompression = acceptsCompression
    options.host = host
    options.port = UInt16(clamping: port)
    options.certificateFile = certificate?.certificate
    options.keyFile = certificate?.key
    options.hasAuthEndpoints = hasAuthEndpoints
    options.webhooks.trust = trust
    options.webhooks.delay = webhookDelay ?? options.webhooks.delay
    return options
  }
}

extension ServedApp {
  fileprivate var application: Application {
    var application = Application(
      id: id, key: key, secret: secret.revealed, allowsClientEvents: allowsClientEvents,
      isEnabled: isEnabled)
    application.sendsSubscriptionCounts = sendsSubscriptionCounts
    application.webhooks = webhooks
    application.masterKey = encryptionKey?.masterKey
    return application
  }
}

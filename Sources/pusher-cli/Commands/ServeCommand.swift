internal import PusherConsole
internal import PusherCore
internal import PusherServer

#if Redis
  internal import PusherCluster
#endif

/// `serve` runs the local server until a signal or its command ends it.
extension ServeSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    Environment.forget(ListenSettings.handedVariables)
    makeRoom(diagnostics)
    // Check first: a new descriptor could get the number of standard output.
    let descriptor = OutputDescriptor()
    if logsEvents, descriptor == nil { return diagnostics.cannotPrintToClosed(" events") }
    return diagnostics.outcome {
      var settings = self
      settings.console.page = try page(diagnostics)
      settings.server.console = settings.console.page?.reach ?? .nobody
      let loop = try EventLoop()
      if let file = settings.console.recording {
        do throws(FileReader.Fault) {
          _ = try FileReader(file)
        } catch {
          throw UsageError("--open-recording: cannot read '\(file)': \(error)")
        }
      }
      let log =
        settings.logsEvents
        ? descriptor.map { EventLog(settings, $0, loop: loop, diagnostics: diagnostics) } : nil
      do {
        return try ServeRun(
          settings, origin: origin, log: log, loop: loop, diagnostics: diagnostics
        ).run()
      } catch TransportError.listen(let address, let reason)
        where settings.server.listen.reusesPort && reason == SystemError.addressInUse.description
      {
        throw TransportError.listen(
          address: address,
          reason: "\(reason) (to share the port, start the other server with --reuse-port too)")
      }
    }
  }

  /// Returns the console's page; without an option, only a terminal on this machine has it.
  private func page(_ diagnostics: Diagnostics) throws(UsageError) -> ConsoleOptions? {
    let isUsual =
      StandardDescriptors.isTerminal(2) && listen.isLoopback && diagnostics.isShown(.warning)
    guard let file = console.tokenFile else {
      return try console.options(isUsual: isUsual, token: Hex.encode(SecureRandom.bytes(16)))
    }
    return try console.options(
      isUsual: isUsual, token: try ConsoleTokenFile.token(in: file, tell: diagnostics.info))
  }

  fileprivate func cluster(_ loop: EventLoop) -> (any Cluster)? {
    #if Redis
      redis.map {
        RedisCluster(
          $0, trust: server.webhooks.trust, webhookDelay: server.webhooks.delay, loop: loop)
      }
    #else
      nil
    #endif
  }

  private static let otherDescriptors = 512

  /// Raises the limit of open files to fit the maximum number of connections.
  private func makeRoom(_ diagnostics: Diagnostics) {
    let connections = server.limits.connections
    let wanted = connections + Self.otherDescriptors
    let limit = SystemCalls.raiseDescriptorLimit(to: wanted)
    guard asksForConnections, limit < wanted else { return }
    diagnostics.warning(
      "--max-connections \(connections): the system allows \(limit) open files; "
        + "raise the limit with ulimit -n, or with LimitNOFILE of systemd")
  }
}

private final class ServeRun {
  private let settings: ServeSettings
  private let origin: Resolved
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let server: Server
  private let log: EventLog?
  private let record: RunRecord?
  private let monitor: ServerMonitor
  private let readiness: Readiness
  private let startedAt: Instant
  private lazy var reading = AppsReading(
    origin, of: server, loop: loop, diagnostics: diagnostics)
  private let command: ServedCommand?
  private var signal: Int32?
  private var status: ExitStatus?
  private var isEnding = false
  private var hasStopped = false

  /// Maximum time for close frames.
  private static let closeTime: Duration = .milliseconds(250)

  init(
    _ settings: ServeSettings, origin: Resolved, log: EventLog?, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    (self.settings, self.origin, self.diagnostics) = (settings, origin, diagnostics)
    (self.log, self.loop) = (log, loop)
    startedAt = loop.now
    readiness = Readiness(command: settings.listen.onReady, loop: loop, diagnostics: diagnostics)
    let monitor = try ServerMonitor(
      settings.monitor, readiness.manager, loop: loop, diagnostics: diagnostics)
    self.monitor = monitor
    let command = ServedCommand(settings.command, loop: loop, diagnostics: diagnostics)
    self.command = command
    server = try Server(
      options: settings.server, cluster: settings.cluster(loop), random: SecureRandom.generator,
      loop: loop
    ) { event in
      monitor.note(event)
      log?.add(event)
      command?.note(event)
      if event.isProblem {
        diagnostics.warning("\(event)\(event.advice)")
      } else if diagnostics.isShown(.info) {
        diagnostics.info(Redaction.redact("\(event)"))
      }
    }
    server.console = settings.console.page.map { [server] in Console($0, host: server) }
    monitor.server = server
    record = try settings.console.record.map { [server] path in
      do throws(FileFault) {
        return try RunRecord(path, of: server, loop: loop, diagnostics: diagnostics)
      } catch { throw UsageError("--record: cannot write to '\(path)': \(error.reason)") }
    }
  }

  func run() -> ExitStatus {
    Signals.watch(loop) { [unowned self] in
      answerQuestion()
    } onHangUp: { [unowned self] in
      readAgain()
    } onSignal: { [unowned self] number in
      signal = number
      end()
    }
    readiness.onEnd = { [unowned self] hasFailed in
      if hasFailed { fail(.command) }
      stopIfDone()
    }
    server.whenSettled { [unowned self] in begin() }
    if hasStopped { return status ?? .success }
    loop.run()
    log?.flush()
    record?.flush()
    if let signal { Signals.die(of: signal) }
    let failure = status ?? log?.failure ?? record?.failure
    if failure == nil, let ended = command?.status { Signals.end(statusOfCommand: ended) }
    return failure ?? .success
  }

  private func begin() {
    guard settings.listen.writePortFile(server.port, diagnostics) else { return fail(.output) }
    if command == nil || diagnostics.isShown(.info) { announce() }
    if let text = settings.printedText(port: server.port) {
      let printed = diagnostics.print(text)
      guard printed == .success else { return fail(printed) }
    }
    readiness.report(
      "listening on \(place)", environment: [("PUSHER_CLI_PORT", String(server.port))])
    readiness.manager.watch(loop)
    command?.start(settings.variables(port: server.port)) { [unowned self] hasFailed in
      hasFailed ? fail(.command) : end()
    }
  }

  private func fail(_ status: ExitStatus) {
    self.status = status
    if !hasStopped { end() }
  }

  /// Reads the certificate and the apps again on SIGHUP; returns false if no file names them.
  private func readAgain() -> Bool {
    guard settings.server.certificate != nil || origin[.apps].text != nil else {
      return false
    }
    guard !server.isStopping else { return true }
    if let files = settings.server.certificate { renewCertificate(files) }
    if origin[.apps].text != nil { reading.begin() }
    return true
  }

  private func renewCertificate(_ files: CertificateFiles) {
    guard files.canChange else {
      return diagnostics.notice(
        "SIGHUP: '\(files.file)' cannot be read again; the certificate stays in use")
    }
    do throws(TLSError) {
      try server.renewCertificate()
      diagnostics.notice("read \(files.file) again: new connections use it")
    } catch { diagnostics.warning("SIGHUP: \(error); the old certificate stays in use") }
  }

  private func end() {
    command?.end(by: signal)
    guard !isEnding else { return stopIfDone() }
    isEnding = true
    readiness.manager.stopping()
    readiness.cut()
    if settings.monitor?.reusesPort == true { monitor.close(at: loop.now) }
    server.stop(patience: Self.closeTime, over: settings.drain ?? .zero) { [unowned self] in
      hasStopped = true
      stopIfDone()
    }
  }

  private func stopIfDone() {
    if hasStopped, command?.isRunning != true, readiness.isOver(succeeds: false) { loop.stop() }
  }

  private func answerQuestion() {
    diagnostics.answer(
      "listening on \(place), up \(startedAt.duration(to: loop.now).inWords), "
        + "\(server.connectionCount) connections")
  }

  private var place: String { settings.listen.place(server.port) }

  private func announce() {
    let (web, scheme) = settings.isSecure ? ("https", "wss") : ("http", "ws")
    for app in settings.server.applications {
      let socket = "\(scheme)://\(place)/app/\(app.key)"
      let name = settings.server.applications.count > 1 ? "app '\(app.id)', " : ""
      diagnostics.notice("listening on \(web)://\(place) (\(name)\(socket))")
    }
    if let page = settings.console.page {
      let place = settings.listen.reachablePlace(server.port)
      diagnostics.notice("console at \(web)://\(place)\(Console.path)?token=\(page.token)")
    }
    guard !settings.defaulted.isEmpty else { return }
    diagnostics.notice(
      "\(settings.defaulted.joined(separator: ", ")): "
        + "use \(settings.localOptions(port: server.port)) with subscribe and trigger")
  }
}

/// The command after `--`: it runs while the server listens, and its end is the server's.
///
/// It has no standard input; its output and its errors are the program's own. The server's notices
/// are kept meanwhile, the last ones only, and shown if the command fails.
private final class ServedCommand {
  private let words: [String]
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private var process: ChildProcess?
  private var notices: [String] = []
  private var omitted = 0
  /// Status of the command, as shells have it; `nil` if it was not started or did not end itself.
  private(set) var status: Int32?

  private static let noticeLimit = 50

  /// Returns `nil` without words.
  init?(_ words: [String], loop: EventLoop, diagnostics: Diagnostics) {
    guard !words.isEmpty else { return nil }
    (self.words, self.loop, self.diagnostics) = (words, loop, diagnostics)
  }

  var isRunning: Bool { process != nil }

  func note(_ event: ServerLogEvent) {
    // These were shown at once.
    guard !diagnostics.isShown(.info), !event.isProblem else { return }
    notices.append(Redaction.redact("\(event)"))
    guard notices.count > Self.noticeLimit else { return }
    notices.removeFirst()
    omitted += 1
  }

  /// - Parameter onEnd: Called after the command's end; true if it could not start.
  func start(
    _ environment: [(name: String, value: String)], onEnd: @escaping (_ hasFailed: Bool) -> Void
  ) {
    let line = "exec " + words.map(SnippetTarget.shellWord).joined(separator: " ")
    let command = ChildProcess.Command(
      line: line, environment: environment, outlet: .ourOutput, timeout: nil)
    do throws(ChildProcess.Failure) {
      process = try ChildProcess(loop: loop, command: command, at: loop.now) {
        [unowned self] result, _ in
        process = nil
        status = (try? result.get())?.status
        if let status, status != 0 { tell(status) }
        onEnd(false)
      }
    } catch {
      diagnostics.error("'\(words[0])': \(error)")
      onEnd(true)
    }
  }

  /// Sends the signal, or SIGTERM, and kills the command after ``ChildProcess/grace``.
  func end(by signal: Int32?) { process?.end(at: loop.now, by: signal) }

  private func tell(_ status: Int32) {
    let earlier = omitted > 0 ? "; \(omitted) earlier notices are left out" : ""
    diagnostics.notice(
      "'\(words[0])' ended with status \(status); the server saw "
        + (notices.isEmpty ? "nothing" : "this\(earlier):"))
    for notice in notices { diagnostics.notice(notice) }
  }
}

/// Reads the file of `--apps` again on another thread, so that a slow disk delays no client.
///
/// Use it on the loop's thread. A request during a reading starts another reading afterwards.
private final class AppsReading: LoopSource {
  private let origin: Resolved
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private let server: Server
  private var isReading = false
  private var isWanted = false

  init(
    _ origin: Resolved, of server: Server, loop: EventLoop, diagnostics: Diagnostics
  ) {
    (self.origin, self.server, self.loop, self.diagnostics) = (origin, server, loop, diagnostics)
  }

  private var file: String { origin[.apps].text ?? "" }

  func begin() {
    guard !isReading else {
      isWanted = true
      return diagnostics.notice(
        "SIGHUP: an earlier reading is still running; \(file) is read again afterwards")
    }
    isReading = true
    loop.add(self)
    let (key, wakeUp) = (ObjectIdentifier(self), loop.wakeUp)
    let isStarted = DetachedThread.start(name: "pusher-settings") { [origin] in
      let answer = Result { () throws(UsageError) in try ServeSettings.appsAgain(origin) }
      wakeUp.post { ($0.source(key) as? AppsReading)?.end(answer) }
    }
    if !isStarted { end(.failure(UsageError("cannot start a thread to read the files"))) }
  }

  private func end(_ answer: Result<[Application], UsageError>) {
    loop.remove(self)
    isReading = false
    // A server that stops needs no apps, and reports nothing about them.
    if server.isStopping { return }
    do {
      diagnostics.notice("read \(file) again: \(try server.renew(try answer.get()))")
    } catch {
      diagnostics.warning("SIGHUP: \(error); the apps stay as they are")
    }
    guard isWanted else { return }
    isWanted = false
    begin()
  }

  /// The loop only finds the reading again after the thread has ended.
  var interest: LoopInterest { LoopInterest() }
}

extension ServerLogEvent {
  /// A remedy, after a semicolon; empty if the user can do nothing here.
  fileprivate var advice: String {
    switch self {
    case .accessRefused(.origin(let text), _):
      guard let origin = AccessPolicy.Origin(text) else { return "" }
      let isAnybodys = origin.description == "null"
      return "; --allow-origin \(origin) would allow it"
        + (isAnybodys ? ", and everyone's sandboxed pages too" : "")
    case .queuesFull: return "; --max-queued changes the limit"
    case .channelsFull(_, let limit, _):
      let flag: Flag =
        switch limit {
        case .app: .serveMaxChannels
        case .socket: .maxSocketChannels
        case .address: .maxAddressChannels
        case .pace: .joinsPerSecond
        }
      return "; \(flag.spelling) changes the limit"
    case .accessRefused(.host(let text), _):
      guard let (host, _) = LocalHost.split(text) else { return "" }
      return "; --allow-host \(host) would allow it"
    case .accessRefused(.remote(let part, _), _):
      let flags = [
        ServerRoute.authorization.name: Flag.authEndpoints, ServerRoute.console.name: .console,
      ]
      return flags[part].map { "; \($0.spelling) would open it to everyone" } ?? ""
    default: return ""
    }
  }
}

/// The texts of `--print-env` and `--print-snippets`.
extension ServeSettings {
  func printedText(port: UInt16) -> String? {
    if printsEnvironment { return environmentBlock(port: port) }
    return printsSnippets ? lines(port: port, comment: "//", \.pusherJS) : nil
  }

  /// Lines for a `.env` file that point an application at this server, with Laravel's names.
  func environmentBlock(port: UInt16) -> String {
    lines(port: port, comment: "#") { target in target.environment(secret: target.app.secret) }
  }

  /// Each app gets its lines; with several apps, a comment above them holds the id.
  private func lines(
    port: UInt16, comment: String, _ text: (SnippetTarget) -> String
  ) -> String {
    server.applications.map { app in
      let target = target(app, port: port)
      let head = server.applications.count > 1 ? "\(comment) app \(app.id)\n" : ""
      return head + text(target)
    }.joined(separator: "\n")
  }

  private func target(_ app: Application, port: UInt16) -> SnippetTarget {
    let url = HTTPURL(
      scheme: isSecure ? .https : .http, host: listen.reachable, port: Int(port))
    return SnippetTarget(app, at: url, signsChannels: server.authEndpoints != .nobody)
  }

  /// Variables of the command after `--`: those of the first app, and the port.
  func variables(port: UInt16) -> [(name: String, value: String)] {
    (server.applications.first.map { target($0, port: port).variables } ?? [])
      + [("PUSHER_CLI_PORT", String(port))]
  }
}

/// The file of `serve --record`: all console entries as JSON lines.
///
/// A slow disk does not block the server: entries above the limit are dropped, with a warning.
final class RunRecord {
  private let server: Server
  private let output: OutputQueue
  private let path: String
  private let diagnostics: Diagnostics
  private let reader: Int
  private(set) var failure: ExitStatus?
  private let loop: EventLoop

  init(
    _ path: String, of server: Server, loop: EventLoop, diagnostics: Diagnostics
  ) throws(FileFault) {
    (self.path, self.server, self.diagnostics, self.loop) = (path, server, diagnostics, loop)
    let file = try OutputFile(path, terminator: 0x0A) { diagnostics.warning("--record: \($0)") }
    output = OutputQueue(descriptor: OutputDescriptor(file), limit: ServerFeed.queueLimit)
    guard let reader = server.feed.open(loop.wakeUp) else {
      throw FileFault(reason: "the server has too many observers")
    }
    self.reader = reader
    output.onFailure = { [weak self] in self?.outputFailed($0) }
    loop.add(output)
    loop.beforeWait { [weak self] in self?.flush() }
  }

  func flush() {
    guard failure == nil else { return }
    if output.buffer.count < ServerFeed.queueLimit {
      for line in server.feed.take(reader) { add(line) }
    }
    output.flush()
  }

  private func add(_ line: ServerFeed.Line) {
    switch line {
    case .entry(_, let text):
      output.buffer.append(text)
      output.buffer.append(UInt8(ascii: "\n"))
    case .dropped(let count, _, _):
      diagnostics.warning("--record: '\(path)' is slow: \(count) entries were dropped")
    }
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    self.failure = diagnostics.cannotPrint(failure.reason, to: path)
    loop.stop()
  }
}

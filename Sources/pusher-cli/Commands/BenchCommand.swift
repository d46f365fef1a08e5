internal import PusherCore

/// Runs `bench`: asks if it must, loads the server, and prints the figures.
enum BenchCommand {
  /// Descriptors besides the sockets of the subscribers.
  private static let otherDescriptors = 64

  static func run(_ settings: BenchSettings, diagnostics: Diagnostics) -> ExitStatus {
    if let status = BenchConsent.missing(settings, diagnostics) { return status }
    return diagnostics.outcome {
      try BenchFiles.check(settings)
      try makeRoom(settings)
      warn(settings, diagnostics)
      diagnostics.info("load on \(place(settings)): \(BenchConsent.words(settings))")
      let run = Hex.encode(SecureRandom.bytes(4))
      // Before the loop, which may start threads.
      let workers = try BenchWorker.start(settings, run: run, diagnostics)
      let outcome = try BenchRun(settings, run: run, workers, diagnostics: diagnostics).run()
      return end(outcome, settings, diagnostics)
    }
  }

  private static func place(_ settings: BenchSettings) -> String {
    let connection = settings.subscription.connection
    return "\(connection.host) port \(connection.port)"
  }

  /// Raises the limit of open files, which is one for each process.
  private static func makeRoom(_ settings: BenchSettings) throws(UsageError) {
    let load = settings.load
    // A visitor of the mode `presence` has a socket of its own.
    let visitors = settings.mode == .presence ? load.channels : 0
    let largest = BenchShare.worker(0, of: load.processes).subscribers(of: load.subscribers).count
    let sockets =
      load.processes == 1 ? largest + visitors : max(largest, visitors + load.processes)
    let wanted = sockets + otherDescriptors
    let limit = DescriptorLimit.raise(to: wanted)
    guard limit < wanted else { return }
    throw UsageError(
      "--subscribers \(settings.load.subscribers): the system allows \(limit) open files, and "
        + "\(wanted) are needed; run 'ulimit -n \(wanted)', or as root "
        + "'prlimit --pid $$ --nofile=\(wanted)', and then bench again")
  }

  private static func warn(_ settings: BenchSettings, _ diagnostics: Diagnostics) {
    let load = settings.load
    let perSender = load.rate / Double(load.channels)
    if settings.mode == .client, perSender > Double(BenchLoad.clientEventLimit) {
      diagnostics.warning(
        "each channel's sender sends \(BenchNumber.text(perSender)) client events a second; Pusher "
          + "passes on \(BenchLoad.clientEventLimit): raise --channels or lower --rate")
    }
    let cores = EventLoop.processorCount
    if load.processes > max(cores, 1) {
      diagnostics.warning(
        "--processes \(load.processes): this machine has \(cores) cores, so the processes wait for "
          + "each other, and delays grow")
    }
    if let warning = LocalPorts.current?.warning(for: load.subscribers) {
      diagnostics.warning(warning)
    }
    guard let baseline = settings.baseline else { return }
    let names = baseline.differences(from: settings.shownLoad)
    if !names.isEmpty {
      diagnostics.warning(
        "--compare: the earlier run had another load: \(names.joined(separator: ", "))")
    }
  }

  private static func end(
    _ outcome: BenchOutcome, _ settings: BenchSettings, _ diagnostics: Diagnostics
  ) -> ExitStatus {
    if let status = failure(outcome, settings, diagnostics) {
      if let number = outcome.signal { Signals.die(of: number) }
      return status
    }
    guard let report = outcome.report else { return .internalError }
    let printed = diagnostics.print(text(report, settings))
    let written = BenchFiles.write(report, settings, diagnostics)
    if let number = outcome.signal { Signals.die(of: number) }
    if printed != .success { return printed }
    if let written { return written }
    let failures = report.failures(settings.conditions)
    for condition in failures {
      let value = report.values[condition.figure.name].map {
        BenchTable.shown($0, condition.figure.unit)
      }
      diagnostics.error(
        "--fail '\(condition.text)': \(condition.figure.name) is \(value ?? "unknown")")
    }
    return failures.isEmpty ? .success : .condition
  }

  private static func text(_ report: BenchReport, _ settings: BenchSettings) -> String {
    if settings.isJSON { return report.json(settings.baseline) }
    let table = BenchTable(report, settings.baseline).text
    // A chart is for people; a pipe gets the table alone.
    guard let columns = OutputDescriptor(1)?.columns else { return table }
    let chart = DelayChart(report.rows, columns: columns, isUnicode: settings.isUnicode)
    return table + (chart.map { "\n" + $0.text } ?? "")
  }

  /// Reports a run that could not load the server; returns its status.
  private static func failure(
    _ outcome: BenchOutcome, _ settings: BenchSettings, _ diagnostics: Diagnostics
  ) -> ExitStatus? {
    switch outcome.failure {
    case nil: return nil
    case .unable: return .internalError
    case .workerLost(let reason):
      diagnostics.error("\(reason); run bench again, with fewer --processes if memory is short")
      return .internalError
    case .refused(let status, let reason):
      let words = reason.isEmpty ? "" : ": \(reason)"
      diagnostics.error("the server answered HTTP \(status)\(words)")
      return ExitStatus(Cause(httpStatus: status))
    case .unconnected:
      let reason = outcome.firstFailure?.reason ?? "no answer"
      diagnostics.error("no subscriber was subscribed: \(Redaction.redact(reason))")
      return ExitStatus(outcome.firstFailure?.cause ?? .unreachable)
    }
  }
}

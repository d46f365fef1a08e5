internal import PusherCore

/// `bench` asks if it must, loads the server, and prints the figures.
extension BenchSettings: RunnableSettings {
  /// Descriptors besides the sockets of the subscribers.
  private static let otherDescriptors = 64

  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    if let status = missingConsent(diagnostics) { return status }
    return diagnostics.outcome {
      try BenchReport.checkFiles(self)
      try makeRoom()
      warn(diagnostics)
      diagnostics.info("load on \(place): \(words)")
      if let goal { return try find(goal, diagnostics) }
      let (report, signal) = try run(diagnostics)
      return end(report, signal, nil, diagnostics)
    }
  }

  private func run(_ diagnostics: Diagnostics) throws -> (report: BenchReport, signal: Int32?) {
    let run = Hex.encode(SecureRandom.bytes(4))
    return try BenchRun(self, run: run, diagnostics: diagnostics).run()
  }

  /// Runs every load of the search, and prints the last run that held.
  private func find(_ goal: BenchCondition, _ diagnostics: Diagnostics) throws -> ExitStatus {
    var search = BenchSearch(goal, least: load.channels * mode.leastSubscribers)
    var trial = self
    let begin = SystemClock.now()
    var (last, signal) = try run(diagnostics)
    var held: BenchReport?
    while signal == nil {
      let step = last.step(trial.load.subscribers, goal)
      search.note(step)
      diagnostics.info("--find: \(step.inWords)")
      if step.holds { held = last }
      // A server that takes nobody takes no other load either.
      guard last.figures.connections.firstJoins > 0,
        let next = search.next(after: begin.duration(to: SystemClock.now()))
      else { break }
      trial.load.subscribers = next
      do throws(UsageError) {
        if mode.sendsEvents { try trial.load.checkEvents() }
        try trial.makeRoom()
      } catch {
        search.note(BenchSearch.Step(subscribers: next, holds: false, words: error.message))
        break
      }
      (last, signal) = try trial.run(diagnostics)
    }
    search.isInterrupted = signal != nil
    let status = end(held ?? last, signal, search, diagnostics)
    guard held == nil, status == .success else { return status }
    diagnostics.error("--find '\(goal.text)': no load held it")
    return .condition
  }

  private var place: String {
    "\(subscription.connection.host) port \(subscription.connection.port)"
  }

  /// Raises the limit of open files.
  private func makeRoom() throws(UsageError) {
    // A visitor of the mode `presence` has a socket of its own.
    let visitors = mode == .presence ? load.channels : 0
    let wanted = load.subscribers + visitors + Self.otherDescriptors
    let limit = SystemCalls.raiseDescriptorLimit(to: wanted)
    guard limit < wanted else { return }
    throw UsageError(
      "--subscribers \(load.subscribers): the system allows \(limit) open files, and "
        + "\(wanted) are needed; run 'ulimit -n \(wanted)', or as root "
        + "'prlimit --pid $$ --nofile=\(wanted)', and then bench again")
  }

  private func warn(_ diagnostics: Diagnostics) {
    let perSender = load.rate / Double(load.channels)
    if mode == .client, perSender > Double(BenchLoad.clientEventLimit) {
      diagnostics.warning(
        "each channel's sender sends \(Quantities.text(perSender)) client events a second; Pusher "
          + "passes on \(BenchLoad.clientEventLimit): raise --channels or lower --rate")
    }
    if let warning = LocalPorts.current?.warning(for: load.subscribers) {
      diagnostics.warning(warning)
    }
    guard let baseline = baseline else { return }
    if !baseline.isValid {
      diagnostics.warning("--compare: the earlier run did not make its load")
    }
    let names = baseline.differences(from: shownLoad)
    if !names.isEmpty {
      diagnostics.warning(
        "--compare: the earlier run had another load: \(names.joined(separator: ", "))")
    }
  }

  /// Prints the figures; returns the status.
  private func end(
    _ report: BenchReport, _ signal: Int32?, _ search: BenchSearch?, _ diagnostics: Diagnostics
  ) -> ExitStatus {
    let printed = diagnostics.print(text(report, search))
    let written = report.writeFiles(self, diagnostics)
    if let signal { Signals.die(of: signal) }
    if printed != .success { return printed }
    if let written { return written }
    if let shortfall = report.shortfall { diagnostics.error(shortfall.reason) }
    let failures = report.failures(conditions)
    for failure in failures {
      diagnostics.error("--fail '\(failure.condition.text)': \(failure.words)")
    }
    if let shortfall = report.shortfall { return shortfall.cause.status }
    return failures.isEmpty ? .success : .condition
  }

  private func text(_ report: BenchReport, _ search: BenchSearch?) -> String {
    if isJSON { return report.json(baseline, search) }
    let isWhole = [.verbose, .frames].contains(common.verbosity)
    let table = BenchTable(report, baseline, isWhole: isWhole).text + (search?.text ?? "")
    // A chart is for people; a pipe gets the table alone.
    guard let columns = OutputDescriptor(1)?.columns else { return table }
    let chart = DelayChart(report.figures.rows, columns: columns, isUnicode: isUnicode)
    return table + (chart.map { "\n" + $0.text } ?? "")
  }

  // MARK: Consent

  /// Asks before another machine is loaded: services bill messages, and limit them.
  ///
  /// Returns `nil` to go on, or the status to end with.
  private func missingConsent(_ diagnostics: Diagnostics) -> ExitStatus? {
    let host = subscription.connection.host
    if isConfirmed || isLocal { return nil }
    guard StandardDescriptors.isTerminal(0), StandardDescriptors.isTerminal(2) else {
      diagnostics.usage(
        UsageError(
          "bench would put load on \(host): \(words); give --yes if that is meant"))
      return .usage
    }
    diagnostics.answer("load \(host)? \(words) [y/N]")
    guard Self.isYes(readLine() ?? "") else {
      diagnostics.answer("nothing was sent")
      return .usage
    }
    return nil
  }

  /// True if sockets and calls go to this machine only.
  private var isLocal: Bool {
    let hosts = [subscription.connection.host, api?.connection.host]
    return hosts.compactMap(\.self).allSatisfy(Loopback.contains)
  }

  /// The load in words, with the number of messages.
  var words: String {
    let most = goal == nil ? "" : ", later up to \(Quantities.grouped(BenchLoad.subscriberLimit))"
    let sockets = "\(Quantities.grouped(load.subscribers)) connections\(most)"
    guard mode.sendsEvents else {
      return mode == .storm ? "\(sockets), each made twice" : sockets
    }
    let plan = BenchPlan(self)
    let events = plan.eventCount
    let receivers = load.subscribers / load.channels - (mode == .client ? 1 : 0)
    let (deliveries, isHuge) = events.multipliedReportingOverflow(by: max(receivers, 1))
    let count = isHuge ? "more than 10^18" : Quantities.grouped(deliveries)
    return "\(sockets), \(Quantities.grouped(events)) events in \(load.time.inWords), "
      + "about \(count) messages to subscribers"
  }

  static func isYes(_ answer: String) -> Bool {
    ["y", "yes"].contains(answer.lowercased())
  }
}

/// The ports from which the system picks one for each outgoing connection.
///
/// Linux tries every second port first. Once these are all in use for one address, it looks at each
/// of them before it takes another, which costs about 0.8 ms a connection. Source: ip(7),
/// ip_local_port_range.
struct LocalPorts {
  private let count: Int

  /// - Parameter text: The first and the last port, as Linux writes them.
  init?(_ text: String) {
    let ports = text.split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
    guard ports.count == 2, ports[0] <= ports[1] else { return nil }
    count = Int(ports[1] - ports[0]) + 1
  }

  /// The ports of this machine; `nil` on systems that do not tell.
  static var current: LocalPorts? {
    let path = "/proc/sys/net/ipv4/ip_local_port_range"
    guard case .success(let bytes) = FileAccess.system.contents(path, 100) else { return nil }
    return LocalPorts(String(decoding: bytes, as: UTF8.self))
  }

  /// Says why so many connections to one address open slowly, or not at all; `nil` if they do not.
  func warning(for connections: Int) -> String? {
    let quick = (count + 1) / 2
    guard connections > quick else { return nil }
    let limit =
      connections > count
      ? "the system has \(count) local ports for connections to one address"
      : "the system finds a local port slowly after \(quick) connections to one address"
    return "--subscribers \(connections): \(limit); as root, run "
      + "'sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"'"
  }
}

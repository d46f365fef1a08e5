internal import PusherCore
internal import PusherLines
internal import PusherServer

extension WebhookSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    PrintingRun.start(diagnostics) { loop, descriptor in
      try WebhookRun(self, descriptor, loop: loop, diagnostics).run()
    }
  }
}

/// Runs `webhook listen`: receives webhooks, verifies them and prints their events.
private final class WebhookRun {
  private let settings: WebhookSettings
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let output: OutputQueue
  private var receiver: WebhookReceiver?
  private var count = 0
  private var refused = 0
  private let wishes: RunWishes
  private let conditions: WhereFilter?
  /// Each is a condition of `--fail-where`.
  private let failConditions: [WhereFilter]
  /// Number of events that `--where` left out.
  private var unmet = 0
  /// The canonical line of one event.
  private let line = ByteBuffer(capacity: 4096)
  private let maker: LineMaker
  private let style: EventLineStyle
  private var status: ExitStatus?
  private var signal: Int32?
  private let readiness: Readiness
  private let startedAt: Instant
  /// Webhooks that wait until the output is written up to `end`, in order.
  private var unanswered = Fifo<(end: Int, number: Int)>()
  private var hasSaidFull = false

  /// Maximum size of waiting lines when a webhook comes, in bytes.
  ///
  /// Low, because senders retry: a webhook comes twice if its answer takes too long.
  private static let queueLimit = 256 << 10
  private static let webhookLimit = 16 << 20

  init(
    _ settings: WebhookSettings, _ descriptor: OutputDescriptor, loop: EventLoop,
    _ diagnostics: Diagnostics
  ) throws {
    (self.settings, self.diagnostics, self.loop) = (settings, diagnostics, loop)
    startedAt = loop.now
    wishes = RunWishes(count: settings.count)
    conditions = WhereFilter(settings.conditions)
    failConditions = settings.failConditions.compactMap { WhereFilter([$0]) }
    maker = LineMaker(output: line, service: .pusher)
    style = EventLineStyle(forTerminal: descriptor.isTerminal)
    readiness = Readiness(command: settings.listen.onReady, loop: loop, diagnostics: diagnostics)
    output = OutputQueue(descriptor: descriptor, limit: Self.queueLimit)
    let inbox = WebhookInbox(key: settings.key, secret: settings.secret.revealed)
    receiver = try WebhookReceiver(
      loop: loop, host: settings.listen.host, port: settings.listen.port, inbox: inbox,
      obstacle: { [unowned self] in obstacle() }, take: { [unowned self] in take($0, $1) },
      noteRefusal: { [unowned self] status, reason in noteRefusal(status, reason) })
  }

  func run() -> ExitStatus {
    Signals.watch(loop) { [unowned self] in
      answerQuestion()
    } onSignal: { [unowned self] number in
      signal = number
      readiness.manager.stopping()
    }
    output.onFailure = { [unowned self] in outputFailed($0) }
    loop.add(output)
    readiness.onEnd = { [unowned self] hasFailed in
      if hasFailed, status == nil || status == .success { status = .command }
    }
    loop.beforeWait { [unowned self] in finishRound() }
    guard let place = announce() else { return .output }
    if let timeout = settings.timeout { limit(timeout) }
    readiness.report(
      "listening for webhooks on \(place)",
      environment: [("PUSHER_CLI_PORT", String(receiver?.port ?? 0))])
    readiness.manager.watch(loop)
    loop.run()
    if let signal { Signals.die(of: signal) }
    readiness.manager.stopping()
    return status ?? .success
  }

  /// Runs before every wait: writes the printed lines and ends a finished run.
  private func finishRound() {
    output.flush()
    answerWritten()
    if signal != nil {
      if readiness.isOver(succeeds: false) { loop.stop() }
    } else if let status, readiness.isOver(succeeds: status == .success), output.buffer.isEmpty {
      loop.stop()
    }
  }

  private func answerQuestion() {
    diagnostics.answer(
      "listening for webhooks, up \(startedAt.duration(to: loop.now).inWords), \(count) events, "
        + "\(refused) requests refused, \(output.buffer.count) bytes queued")
  }

  /// Reports the address and returns it; `nil` if the port file cannot be written.
  private func announce() -> String? {
    guard let port = receiver?.port else { return nil }
    let place = "http://\(settings.listen.place(port))"
    guard settings.listen.writePortFile(port, diagnostics) else { return nil }
    diagnostics.notice("listening for webhooks on \(place)")
    return place
  }

  private func limit(_ timeout: Duration) {
    loop.schedule(after: timeout) { [unowned self] in
      readiness.cut()
      guard status == nil else { return loop.stop() }
      let closing = RunEnd.Closing.timeout(timeout)
      let leftOut = unmet > 0 ? Hints.rejection(unmet: unmet) : ""
      status = wishes.status(at: closing)
      if let error = wishes.sentence(at: closing, after: count, hint: leftOut) {
        diagnostics.error(error)
      } else if count == 0, !leftOut.isEmpty {
        diagnostics.warning("nothing to print: \(leftOut)")
      }
    }
  }

  /// The reason to reject webhooks now, if any.
  private func obstacle() -> String? {
    guard status == nil, signal == nil else { return "the receiver is stopping" }
    guard output.buffer.count >= Self.queueLimit else { return nil }
    if !hasSaidFull {
      hasSaidFull = true
      diagnostics.warning(
        "\(Self.queueLimit >> 10) KiB of lines wait for a reader; webhooks get HTTP 503 until the "
          + "lines are written")
    }
    return "too many lines wait for a reader"
  }

  private func noteRefusal(_ status: Int, _ reason: String) {
    refused += 1
    diagnostics.warning("refused a request with HTTP \(status): \(reason)")
  }

  private func take(_ events: [WebhookInbox.Event], _ number: Int) -> WebhookReceiver.Receipt? {
    if settings.hasTimestamps { maker.setReceivedAt(SystemClock.wall().rfc3339) }
    let (start, countBefore, unmetBefore) = (output.buffer.count, count, unmet)
    var failing: WebhookInbox.Event?
    for event in events {
      line.removeAll()
      maker.write(
        event: event.name, channel: event.channel, userID: event.userID, data: event.data)
      let written = EventLine(line.view)
      if failConditions.contains(where: { $0.passes(written) }) {
        failing = event
        break
      }
      guard conditions?.passes(written) ?? true else {
        unmet += 1
        continue
      }
      guard count != settings.count else { continue }
      count += 1
      style.write(written, to: output.buffer)
      guard output.buffer.count - start <= Self.webhookLimit else {
        // All lines of a webhook are printed, or none.
        output.buffer.truncate(to: start)
        (count, unmet) = (countBefore, unmetBefore)
        let reason = "its lines are larger than \(Self.webhookLimit >> 20) MiB"
        noteRefusal(413, reason)
        return .refused(413, reason)
      }
    }
    if count == settings.count {
      status = .success
    } else if let failing {
      fail(failing)
    }
    unanswered.append((output.end, number))
    return nil
  }

  /// Ends the run at an event of `--fail-where`; printed events are written before the message.
  private func fail(_ event: WebhookInbox.Event) {
    status = Cause.refused.status
    output.flush()
    diagnostics.error("the server sent '\(event.name)': \(Printer.text(of: event.data))")
  }

  /// Answers webhooks after the write of their lines succeeded or failed.
  private func answerWritten() {
    let receipt: WebhookReceiver.Receipt =
      output.hasFailed ? .refused(503, "the lines cannot be written") : .kept
    while let first = unanswered.first, output.hasFailed || first.end <= output.written {
      _ = unanswered.popFirst()
      receiver?.answer(first.number, receipt)
    }
    if output.buffer.isEmpty { hasSaidFull = false }
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    status = diagnostics.outcome(of: failure)
    answerWritten()
    loop.stop()
  }
}

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
  private let judgedLine = ByteBuffer()
  private var status: ExitStatus?
  private var signal: Int32?
  private let readiness: Readiness
  private let startedAt: Instant
  private let isTerminal: Bool
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
    isTerminal = descriptor.isTerminal
    readiness = Readiness(command: settings.listen.onReady, loop: loop, diagnostics: diagnostics)
    output = OutputQueue(descriptor: descriptor, limit: Self.queueLimit)
    let inbox = WebhookInbox(key: settings.key, secret: settings.secret.revealed)
    receiver = try WebhookReceiver(
      loop: loop, host: settings.listen.host, port: settings.listen.port, inbox: inbox,
      handler: WebhookReceiver.Handler(
        obstacle: { [unowned self] in obstacle() }, take: { [unowned self] in take($0, $1) },
        noteRefusal: { [unowned self] status, reason in noteRefusal(status, reason) }))
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
    let failing = events.firstIndex { event in failConditions.contains { meets(event, $0) } }
    let before = events[..<(failing ?? events.endIndex)]
    let passing = conditions.map { filter in before.filter { meets($0, filter) } } ?? Array(before)
    let wanted = passing.prefix(settings.count.map { $0 - count } ?? .max)
    guard print(wanted) else {
      let reason = "its lines are larger than \(Self.webhookLimit >> 20) MiB"
      noteRefusal(413, reason)
      return .refused(413, reason)
    }
    count += wanted.count
    unmet += before.count - passing.count
    if count == settings.count {
      status = .success
    } else if let failing {
      fail(events[failing])
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

  private func meets(_ event: WebhookInbox.Event, _ conditions: WhereFilter) -> Bool {
    judgedLine.removeAll()
    defer { judgedLine.removeAll() }
    JSONWriter.write(Self.line(event, nil), into: judgedLine)
    return conditions.passes(judgedLine.view)
  }

  /// Adds all lines of a webhook to the output, or none; returns false if they are too long.
  private func print(_ events: ArraySlice<WebhookInbox.Event>) -> Bool {
    let time = settings.hasTimestamps ? SystemClock.wall().rfc3339 : nil
    let before = output.buffer.count
    for event in events {
      JSONWriter.write(Self.line(event, time), into: output.buffer, forTerminal: isTerminal)
      output.buffer.append(UInt8(ascii: "\n"))
      guard output.buffer.count - before <= Self.webhookLimit else {
        output.buffer.truncate(to: before)
        return false
      }
    }
    return true
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

  /// Uses the field order of `subscribe`.
  private static func line(_ event: WebhookInbox.Event, _ time: String?) -> JSONValue {
    .object(present: [
      "received_at": time.map(JSONValue.string), "event": .string(event.name),
      "channel": event.channel.map(JSONValue.string) ?? .null,
      "user_id": event.userID.map(JSONValue.string), "data": event.data,
    ])
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    status = diagnostics.outcome(of: failure)
    answerWritten()
    loop.stop()
  }
}

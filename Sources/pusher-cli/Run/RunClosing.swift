internal import PusherCore

extension RunEnd {
  /// An end that no met wish, refusal, failure or signal explains.
  enum Closing: Equatable {
    /// The server marked the end of the stream: the last chunk, the last byte of a counted body, or
    /// the closing alert of TLS.
    case streamEnded
    /// The server answered HTTP 204.
    case noMoreEvents
    /// The connection was refused or is lost for good, in words; `wasOpen` is false if there was
    /// never a connection.
    case lost(Cause, String, wasOpen: Bool)
    case timeout(Duration, Obstacle? = nil)
    case idleTimeout(Duration)

    /// - Parameter wasOpen: True if there was a connection.
    init(_ end: ConnectionEnd, wasOpen: Bool) {
      switch end {
      case .finished: self = .noMoreEvents
      // This side closes a feed only during the end of the run.
      case .asked, .lost(.ended, _): self = .streamEnded
      case .lost(let loss, let code), .retriesExhausted(let loss, let code, _):
        self = .lost(Cause(loss, code: code), "", wasOpen: wasOpen)
      }
    }

    /// The reason in the line `pusher-cli:exit`.
    var reason: String {
      switch self {
      case .streamEnded, .noMoreEvents, .lost: "connection"
      case .timeout: "timeout"
      case .idleTimeout: "idle timeout"
      }
    }

    /// The end in words.
    var words: String {
      switch self {
      case .streamEnded: "the stream ended"
      case .noMoreEvents: "the server has no more events (HTTP 204)"
      case .lost(_, let words, _): words
      case .timeout: "timed out"
      case .idleTimeout(let time): "timed out: no event for \(time.inWords)"
      }
    }
  }
}

/// The table of ends: the only place that decides how a run ends whose wish is not met. `help
/// exit-codes` prints it.
extension RunWishes {
  /// Returns the status of a run that ends so, with none of its wishes met.
  func status(at closing: RunEnd.Closing) -> ExitStatus {
    switch closing {
    case .streamEnded, .noMoreEvents: areNone ? .success : Cause.unmet.status
    case .lost(let cause, _, _): cause.status
    case .timeout(_, let obstacle) where areNone: obstacle?.cause.status ?? .success
    case .timeout, .idleTimeout: Cause.time.status
    }
  }

  /// Words the error of a run that ends so, with none of its wishes met; `nil` for a success.
  ///
  /// - Parameters:
  ///   - events: Number of events that counted.
  ///   - hint: What came instead, or what to check; empty for nothing.
  func sentence(at closing: RunEnd.Closing, after events: Int, hint: String = "") -> String? {
    let remark = hint.isEmpty ? "" : " (\(hint))"
    let never = absence.map { "; \($0)" } ?? ""
    switch closing {
    case .streamEnded, .noMoreEvents:
      return areNone ? nil : "\(closing.words) after \(words(events))\(never)\(remark)"
    case .lost(_, let words, let wasOpen):
      return words + (wasOpen && !areNone ? "; \(shortfall(events))\(remark)" : "")
    case .idleTimeout: return "\(closing.words)\(never)\(remark)"
    case .timeout(let time, let obstacle):
      guard areNone else {
        let what = "\(closing.words): \(words(events)) within \(time.inWords)\(never)"
        return what + (obstacle.map { " (\($0.what)\($0.because))" } ?? remark)
      }
      return obstacle.map { "\(closing.words): \($0.what) within \(time.inWords)\($0.because)" }
    }
  }

  /// The events that came, such as `2 of 3 events`.
  private func words(_ events: Int) -> String {
    count.map { "\(events) of \($0) events" } ?? Quantities.words(events, of: "event")
  }

  private func shortfall(_ events: Int) -> String {
    let counted = count == nil ? nil : "\(words(events)) came"
    return [counted, absence].compactMap(\.self).joined(separator: ", ")
  }

  /// The particular event that never came, in words; `nil` if none was awaited.
  private var absence: String? {
    guard awaitEvent else { return nil }
    let names = untilEvents.map { "'\($0)'" }.joined(separator: " or ")
    let options = [
      untilData.map { "--until '\($0)'" }, names.isEmpty ? nil : "--until-event \(names)",
    ]
    return options.compactMap(\.self).joined(separator: " and ") + " never came"
  }
}

extension RunWishes {
  /// A row of the table in `help exit-codes`.
  struct Row {
    let end: String
    let commands: String
    /// Status without a wish, and with a wish that is not met.
    let statuses: (free: ExitStatus, unmet: ExitStatus)

    init(_ end: String, of commands: String, _ closing: RunEnd.Closing) {
      (self.end, self.commands) = (end, commands)
      statuses = (
        RunWishes().status(at: closing), RunWishes(count: 1).status(at: closing)
      )
    }
  }

  /// All ends without a met wish, except signals.
  static let rows: [Row] = {
    let streams = "subscribe, sse"
    let all = "subscribe, sse, webhook listen"
    let time = Duration.seconds(1)
    func lost(_ cause: Cause) -> RunEnd.Closing { .lost(cause, "", wasOpen: true) }
    return [
      Row("the server marks the end of the stream", of: "sse", .streamEnded),
      Row("the server answers HTTP 204", of: "sse", .noMoreEvents),
      Row("the answer has no event at all", of: "sse", lost(.brokenProtocol)),
      Row(
        "the connection is lost or closed, with --reconnect never or no retries left",
        of: streams, lost(.unreachable)),
      Row("unknown key, HTTP 401 or 403, channel not allowed", of: streams, lost(.notAllowed)),
      Row("refused for another reason", of: streams, lost(.refused)),
      Row("--timeout", of: all, .timeout(time)),
      Row(
        "--timeout, without a connection or subscription until then", of: streams,
        .timeout(time, Obstacle(what: ""))),
      Row("--idle-timeout", of: streams, .idleTimeout(time)),
    ]
  }()
}

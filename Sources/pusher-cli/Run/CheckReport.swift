internal import PusherCore

enum CheckOutcome {
  case passed(String)
  /// An event came back; `advice` says what to look at in the app.
  case returned(after: Duration, on: String?, advice: [String])
  case failed(CheckFailure)
  /// An earlier stage failed, or a requirement is missing.
  case notTried(String)
}

struct CheckFailure: Error {
  var expected: String
  var came: String
  var cause: Cause
  /// True if the settings do not fit a server that may be fine.
  var isMismatch = false
  /// True if a proxy was unreachable, or refused to connect.
  var isOfProxy = false
  /// The unreachable part on this machine, in words; `nil` for another machine.
  var neighbour: String?
  /// Results of further checks, and remedies.
  var advice: [String] = []

  var fault: String {
    if isMismatch { return "your settings" }
    return switch cause {
    case .settings, .notAllowed: "you"
    case .unreachable, .time: neighbour ?? "the network"
    case .overloaded, .refused, .brokenProtocol, .unmet: "the server"
    case .defect, .output: "this program"
    }
  }
}

/// Prints each stage as it ends, in columns or as JSON lines.
final class CheckReport {
  private let isJSON: Bool
  private let diagnostics: Diagnostics
  private var printStatus = ExitStatus.success
  private(set) var failure: ExitStatus?

  private let width: Int
  private static let leastWidth = 14
  private static let mostWidth = 40

  init(isJSON: Bool, channels: [String], diagnostics: Diagnostics) {
    self.isJSON = isJSON
    let widths = channels.map { Diagnostics.escaped($0).count }.filter { $0 <= Self.mostWidth }
    width = max(Self.leastWidth, widths.max() ?? 0)
    self.diagnostics = diagnostics
  }

  var status: ExitStatus { printStatus == .success ? failure ?? .success : printStatus }

  func add(_ stage: String, _ outcome: CheckOutcome, after time: Duration? = nil) {
    if case .failed(let problem) = outcome, failure == nil { failure = problem.cause.status }
    guard printStatus == .success else { return }
    let text = isJSON ? line(stage, outcome, time) : columns(stage, outcome, time)
    printStatus = diagnostics.print(text)
  }

  private func columns(_ stage: String, _ outcome: CheckOutcome, _ time: Duration?) -> String {
    let name = Diagnostics.escaped(stage)
    let time = time.map { " (\($0.inMilliseconds))" } ?? ""
    let indent = String(repeating: " ", count: width + 2)
    let head = name.count > width ? name + "\n" + indent : name + indent.dropFirst(name.count)
    func lines(_ words: String, _ details: [String]) -> String {
      let rest = details.map { indent + Diagnostics.escaped($0) + "\n" }
      return head + Diagnostics.escaped(words) + "\n" + rest.joined()
    }
    switch outcome {
    case .passed(let detail): return lines("ok: \(detail)\(time)", [])
    case .returned(let time, let channel, let advice):
      return lines("ok: \(Self.words(time, channel))", advice)
    case .notTried(let reason): return lines("not tried: \(reason)", [])
    case .failed(let problem):
      return lines(
        "FAILED: \(problem.came)\(time)",
        ["expected: \(problem.expected)", "at fault: \(problem.fault)"] + problem.advice)
    }
  }

  private func line(_ stage: String, _ outcome: CheckOutcome, _ time: Duration?) -> String {
    var (problem, advice, time): (CheckFailure?, [String]?, Duration?) = (nil, nil, time)
    let (result, detail): (String, String)
    switch outcome {
    case .passed(let words): (result, detail) = ("ok", words)
    case .returned(let trip, let channel, let words):
      (result, detail) = ("ok", Self.words(trip, channel))
      (advice, time) = (words, trip)
    case .notTried(let reason): (result, detail) = ("not tried", reason)
    case .failed(let failure):
      (result, detail) = ("failed", failure.came)
      (problem, advice) = (failure, failure.advice)
    }
    let line = JSONValue.object(present: [
      "stage": .string(stage), "result": .string(result), "detail": .string(detail),
      "expected": problem.map { .string($0.expected) }, "fault": problem.map { .string($0.fault) },
      "advice": advice.map { .array($0.map { .string($0) }) },
      "seconds": time.map { .number($0.secondsText) },
    ])
    return line.jsonText + "\n"
  }

  private static func words(_ time: Duration, _ channel: String?) -> String {
    time.inMilliseconds + (channel.map { " on \($0)" } ?? "")
  }
}

extension Duration {
  /// Formats a time, such as `12.3 ms`.
  fileprivate var inMilliseconds: String {
    let tenths = wholeNanoseconds / 100_000
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}

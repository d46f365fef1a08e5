import Foundation
import PusherCore

/// Analyses a subscriber's lines for lost, repeated and swapped events.
struct NumberedLedger {
  /// A jump in the numbers, and the gaps reported between its ends.
  struct Jump: Equatable {
    var missing: ClosedRange<Int>
    var followsLoss: Bool
    var gaps: [ClosedRange<Double>]
  }

  private(set) var printed = 0
  private(set) var duplicated = 0
  private(set) var outOfOrder = 0
  private(set) var jumps: [Jump] = []
  private(set) var gaps: [ClosedRange<Double>] = []
  private(set) var losses: [String: Int] = [:]
  private(set) var strange: [String] = []
  private(set) var last = 0
  private var isLost = false
  private var gapsSinceLast: [ClosedRange<Double>] = []
  private var seen: Set<Int> = []

  var missing: Int { jumps.reduce(0) { $0 + $1.missing.count } }

  mutating func take(_ line: String) throws {
    let start = #"{"event":"n","channel":"\#(NumberedSource.channel)","data":{"n":"#
    if line.hasPrefix(start), let number = Int(line.dropFirst(start.count).prefix { $0.isNumber }) {
      if line == NumberedSource.line(number) { take(number) } else { strange.append(line) }
      return
    }
    let event = try JSONParser.parse(line)
    switch event["event"]?.text {
    case "pusher-cli:disconnected":
      isLost = true
      let reason = (event["data"]?["reason"]?.text ?? "").replacing(#/\d+/#, with: "N")
      losses[reason, default: 0] += 1
    case "pusher-cli:gap":
      guard let from = seconds(event["data"]?["from"]), let to = seconds(event["data"]?["to"]),
        from <= to
      else { return strange.append(line) }
      gaps.append(from...to)
      gapsSinceLast.append(from...to)
    case "pusher:connection_established", "pusher:subscription_succeeded", "pusher:error": break
    default: strange.append(line)
    }
  }

  private mutating func take(_ number: Int) {
    printed += 1
    defer { last = max(last, number) }
    guard seen.insert(number).inserted else {
      duplicated += 1
      return
    }
    guard number > last else {
      outOfOrder += 1
      return
    }
    if number > last + 1, last > 0 {
      jumps.append(
        Jump(missing: last + 1...number - 1, followsLoss: isLost, gaps: gapsSinceLast))
    }
    isLost = false
    gapsSinceLast = []
  }

  private func seconds(_ time: JSONValue?) -> Double? {
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    return time?.text.flatMap { try? format.parse($0).timeIntervalSince1970 }
  }

  /// Returns the jumps without a gap reported between their two events.
  ///
  /// The program sets a gap's times. Events published up to `slack` seconds before its start may
  /// have been in transit: source, server and program each wait for their turn on a busy machine.
  func unexplained(_ source: NumberedSource, slack: Double) -> [Jump] {
    jumps.filter { jump in
      let (first, last) = wallTimes(jump, source)
      guard jump.followsLoss, let start = jump.gaps.first, let end = jump.gaps.last else {
        return true
      }
      return first < start.lowerBound - slack || last > end.upperBound + slack
    }
  }

  /// Returns the longest time, in seconds, from a missing event's publication to the start of its
  /// gap.
  func longestLead(_ source: NumberedSource) -> Double {
    jumps.reduce(0) { worst, jump in
      let (first, last) = wallTimes(jump, source)
      let lead = gaps.filter { first <= $0.upperBound && $0.lowerBound <= last + 1 }
        .map { $0.lowerBound - first }.min()
      return max(worst, lead ?? 0)
    }
  }

  private func wallTimes(_ jump: Jump, _ source: NumberedSource) -> (Double, Double) {
    let wall = Date().timeIntervalSince1970
    let now = SystemClock.now()
    func time(_ number: Int) -> Double {
      wall + now.duration(to: source.time(of: number)).inSeconds
    }
    return (time(jump.missing.lowerBound), time(jump.missing.upperBound))
  }
}

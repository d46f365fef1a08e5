import Foundation
import PusherCore
import TestSupport

/// Publishes numbered events at a steady pace, with or without subscribers, and records the times.
///
/// Like a real server, it writes each number to every subscription confirmed at that time.
final class NumberedSource: Sendable {
  static let channel = "numbers"

  private struct State {
    /// Publication time of each number, the first at index 0.
    var times: [Instant] = []
    var written = 0
    var isFinished = false
  }

  private let state = Locked(State())

  /// Starts to publish; `seed` decides the pace.
  func start(seed: UInt64) {
    let source = self
    Thread.detachNewThread {
      var random = SeededGenerator(seed: seed)
      while !source.state.withLock({ $0.isFinished }) {
        source.publish(random.below(6))
        usleep(UInt32(300 + random.below(2500)))
      }
    }
  }

  private func publish(_ count: Int) {
    let now = SystemClock.now()
    state.withLock { state in
      for _ in 0..<count { state.times.append(now) }
    }
  }

  func finish() {
    state.withLock { $0.isFinished = true }
  }

  var last: Int { state.withLock { $0.times.count } }

  func time(of number: Int) -> Instant { state.withLock { $0.times[number - 1] } }

  var written: Int { state.withLock { $0.written } }

  func feed(_ connection: ScriptedConnection, from first: Int, atMost limit: Int) throws {
    var next = first
    let end = limit == .max ? .max : next + limit
    while next < end {
      guard next <= last else {
        if state.withLock({ $0.isFinished }) { throw PeerLeft() }
        usleep(200)
        // Notices a client that left even when nothing is written.
        try connection.checkPeer()
        continue
      }
      state.withLock { $0.written += 1 }
      try connection.send(event: "n", channel: Self.channel, data: Self.data(next))
      next += 1
    }
  }

  /// Returns the data of a number, sometimes long enough to be cut in the middle.
  static func data(_ number: Int) -> String {
    let length = number % 97 == 0 ? 20_000 : number * 7919 % 300
    return #"{"n":\#(number),"é\"":"\#(String(repeating: "x", count: length))"}"#
  }

  static func line(_ number: Int) -> String {
    #"{"event":"n","channel":"\#(channel)","data":\#(data(number))}"#
  }
}

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
      jumps.append(Jump(missing: last + 1...number - 1, followsLoss: isLost, gaps: gapsSinceLast))
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

/// Faults of one connection in a random run: at the server, on the wire, or both.
struct FaultPlan: Sendable {
  enum ServerFault: Sendable {
    case none
    case refuse(Int)
    case silentUpgrade
    case leaveBeforeGreeting
    case neverConfirm
    case leaveBeforeConfirmation
    case close(UInt16)
    case drop
    case dropWithError(Int)
    case deaf
  }

  var fault = ServerFault.none
  var events = Int.max
  var wire = FaultyWire.sound
  var deflates = false
  /// Order of the answers to the two subscriptions.
  var confirmation = Confirmation.inOrder

  enum Confirmation: Sendable, CaseIterable {
    case inOrder, reversed, twice
  }

  static let sound = FaultPlan()

  static func random(_ random: inout SeededGenerator) -> FaultPlan {
    var plan = FaultPlan()
    plan.deflates = random.below(3) == 0
    plan.confirmation = Confirmation.allCases[random.below(6) % 3]
    plan.events = random.below(8)
    switch random.below(100) {
    case 0..<40: plan.wire.cut = random.below(2) == 0 ? .reset : .end
    case 40..<43: plan.wire.cut = random.below(2) == 0 ? .blackHole : .halfOpen
    case 43..<65:
      let codes: [UInt16] = [
        4100, 4150, 4199, 4200, 4201, 4202, 4299, 4300, 4999, 1000, 1001, 1011,
      ]
      plan.fault = .close(codes[random.below(codes.count)])
    case 65..<78: plan.fault = .drop
    case 78..<86: plan.fault = .dropWithError([4100, 4200, 4201][random.below(3)])
    case 86..<88: plan.fault = .deaf
    case 88..<92: plan.fault = .refuse([500, 502, 503, 504, 429][random.below(5)])
    case 92: plan.fault = .silentUpgrade
    case 93..<96: plan.fault = .leaveBeforeGreeting
    case 96: plan.fault = .neverConfirm
    default: plan.fault = .leaveBeforeConfirmation
    }
    if plan.wire.cut != nil {
      // The head of the answer has about 130 bytes, greeting and confirmations 300; then events
      // follow.
      plan.wire.cutAfter = random.below(4) == 0 ? random.below(450) : 300 + random.below(2000)
      plan.events = .max
    }
    if random.below(8) == 0 { plan.wire.latency = .milliseconds(1 + random.below(8)) }
    if random.below(10) == 0 {
      plan.wire.piece = 20 + random.below(180)
      plan.wire.interval = .microseconds(20 + random.below(150))
    }
    return plan
  }

  func play(_ connection: ScriptedConnection, _ source: NumberedSource) throws {
    switch fault {
    case .refuse(let status):
      _ = try connection.request()
      return try connection.answer(status, "No")
    case .silentUpgrade:
      _ = try connection.request()
      try connection.stall()
    case .leaveBeforeGreeting:
      try connection.upgrade(deflate: deflates)
      return connection.drop()
    default: break
    }
    try connection.welcome(deflate: deflates)
    let asked = [try connection.subscription(), try connection.subscription()].map(\.channel)
    if case .neverConfirm = fault { try connection.ignore() }
    if case .leaveBeforeConfirmation = fault { return connection.drop() }
    // Later events belong to the subscription, as on a real server, however late this thread
    // continues.
    let first = source.last + 1
    let order = confirmation == .reversed ? Array(asked.reversed()) : asked
    for channel in confirmation == .twice ? order + order : order {
      try connection.send(
        event: "pusher_internal:subscription_succeeded", channel: channel, data: "{}")
    }
    try source.feed(connection, from: first, atMost: events)
    switch fault {
    case .close(let code): try connection.close(code: code, reason: "planned")
    case .dropWithError(let code):
      try connection.send(
        text: #"{"event":"pusher:error","data":{"code":\#(code),"message":"planned"}}"#)
    case .deaf: try connection.ignore()
    default: break
    }
    connection.drop()
  }
}

import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

private struct Rig {
  var end: RunEnd
  var now = start
  var waiting: RunEnd.Waiting = [.feed]

  static let start = Instant(nanoseconds: 1_000_000_000)

  init(
    timeout: Duration? = nil, idle: Duration? = nil, count: Int? = 1,
    waiting: RunEnd.Waiting = [.feed], after event: RunEnd.Event? = nil
  ) {
    end = RunEnd(RunWishes(count: count), timeout: timeout, idleTimeout: idle, at: Self.start)
    self.waiting = waiting
    if let event { _ = take(event) }
  }

  /// Returns the steps up to the next wait or the end.
  mutating func steps() -> [RunEnd.Step] {
    var steps: [RunEnd.Step] = []
    while steps.count < 100 {
      let step = end.next(waiting, at: now)
      steps.append(step)
      switch step {
      case .proceed, .drain, .finish, .die: return steps
      default: continue
      }
    }
    return steps
  }

  mutating func take(_ event: RunEnd.Event) -> [RunEnd.Step] {
    end.take(event, at: now)
    return steps()
  }

  mutating func pass(_ time: Duration) -> [RunEnd.Step] {
    now = now.advanced(by: time)
    return steps()
  }

  /// Time until the next deadline.
  var rest: Duration? { end.deadline.map { now.duration(to: $0) } }

  mutating func outcome() -> RunEnd.Ending? {
    waiting = []
    if case .finish(let ending)? = steps().last { return ending }
    return nil
  }
}

struct `How a run ends` {
  private static let timedOut = RunEnd.Event.closed(.timeout(.seconds(5)))
  private static let lost = RunEnd.Event.closed(.lost(.unreachable, "", wasOpen: true))
  private static let causes: [(RunEnd.Event, RunEnd.Ending)] = [
    (.satisfied(reason: "count"), .status(.success, reason: "count")),
    (timedOut, .status(.timedOut, reason: "timeout")),
    (.refused(.unauthorized, reason: "refused"), .status(.unauthorized, reason: "refused")),
    (lost, .status(.network, reason: "connection")),
    (.failed(.command, reason: "exec"), .status(.command, reason: "exec")),
    (.outputFailed(.output), .status(.output, reason: "output")),
    (.readerGone, .signal(13)),
    (.signal(15), .signal(15)),
  ]

  @Test func `a run without a cause to end goes on`() {
    var rig = Rig()
    #expect(rig.steps() == [.proceed])
    #expect(rig.end.deadline == nil)
    #expect(rig.pass(.seconds(86_400)) == [.proceed])
  }

  @Test func `each cause closes the feed once, and ends the run when all is over`() {
    for (event, ending) in Self.causes {
      var rig = Rig()
      let steps = rig.take(event)
      #expect(steps.filter { $0 == .close }.count == 1)
      #expect(steps.contains(.tellExit(ending)))
      #expect(steps.last == .drain(until: rig.now.advanced(by: RunEnd.goodbyeTime)))
      #expect(rig.outcome() == ending)
    }
  }

  @Test func `of two causes the first decides, but for signals and for a failure after success`() {
    for (first, ending) in Self.causes {
      for (second, other) in Self.causes where second != first {
        var rig = Rig(after: first)
        _ = rig.take(second)
        let replaces =
          switch second {
          case .signal, .readerGone: true
          case .failed, .outputFailed: ending.isSuccess
          default: false
          }
        #expect(rig.outcome() == (replaces ? other : ending), "\(first), then \(second)")
      }
    }
  }

  @Test func `the commands of handler and readiness are cut as their end demands`() {
    func steps(_ event: RunEnd.Event) -> [RunEnd.Step] {
      var rig = Rig()
      return rig.take(event)
    }
    var rig = Rig()
    #expect(!rig.take(.satisfied(reason: "count")).contains(.cutCommand))
    #expect(rig.take(.failed(.command, reason: "on-ready")).first == .cutCommand)
    #expect(steps(.signal(2)).prefix(3) == [.close, .cut(passing: 2), .cutCommand])
    #expect(steps(.readerGone).contains(.cut(passing: nil)))
    #expect(steps(.outputFailed(.output)).contains(.cut(passing: nil)))
    let refusal = steps(.refused(.unauthorized, reason: "refused"))
    #expect(refusal.contains(.cutCommand) && !refusal.contains(.cut(passing: nil)))
  }

  @Test func `the last line is printed once, after what the handler still does`() {
    var rig = Rig(waiting: [.feed, .handler])
    let drain = RunEnd.Step.drain(until: rig.now.advanced(by: RunEnd.goodbyeTime))
    #expect(rig.take(Self.lost) == [.close, .cutCommand, drain])
    rig.waiting = [.feed]
    #expect(
      rig.steps() == [.tellMissed, .tellExit(.status(.network, reason: "connection")), drain])
    #expect(rig.steps() == [drain])
  }

  @Test func `a successful run waits for the command of --on-ready, which may make it fail`() {
    var rig = Rig(waiting: [.feed, .command])
    #expect(rig.take(.satisfied(reason: "until")).dropLast() == [.close, .tellMissed])
    rig.waiting = [.command]
    #expect(rig.pass(.seconds(3600)).last == .drain(until: nil))
    rig.waiting = []
    let failure = RunEnd.Ending.status(.command, reason: "on-ready")
    #expect(
      rig.take(.failed(.command, reason: "on-ready"))
        == [.cutCommand, .tellExit(failure), .finish(failure)])
  }

  @Test func `the socket is dropped when a goodbye takes 200 ms, the output waited for`() {
    var rig = Rig(waiting: [.feed, .output], after: .satisfied(reason: "count"))
    #expect(!rig.pass(.milliseconds(199)).contains(.hangUp))
    #expect(rig.pass(.milliseconds(1)) == [.hangUp, .drain(until: nil)])
    rig.waiting = [.output]
    #expect(rig.pass(.seconds(3600)) == [.drain(until: nil)])
    #expect(rig.outcome() == .status(.success, reason: "count"))
  }

  @Test func `a signal gives the output 200 ms, and what runs until it has ended`() {
    var rig = Rig(waiting: [.feed, .output, .command], after: .signal(15))
    #expect(
      rig.pass(.milliseconds(199)).last == .drain(until: rig.now.advanced(by: .milliseconds(1))))
    #expect(rig.pass(.milliseconds(1)) == [.hangUp, .drain(until: nil)])
    for waiting in [[.output, .work], [.output, .handler]] as [RunEnd.Waiting] {
      rig.waiting = waiting
      #expect(rig.steps() == [.drain(until: nil)])
    }
    rig.waiting = [.feed, .output]
    #expect(rig.steps() == [.finish(.signal(15))])
  }

  @Test func `a signal during the end has its own 200 ms`() {
    var rig = Rig(waiting: [.feed, .output], after: .satisfied(reason: "count"))
    _ = rig.pass(.milliseconds(150))
    _ = rig.take(.signal(2))
    #expect(rig.rest == .milliseconds(200))
    #expect(
      rig.pass(.milliseconds(199)).last == .drain(until: rig.now.advanced(by: .milliseconds(1))))
    #expect(rig.pass(.milliseconds(1)).last == .finish(.signal(2)))
  }

  @Test func `a second signal ends the process at once, whatever is open`() {
    for first in [2, 15] as [Int32] {
      var rig = Rig(waiting: [.feed, .output, .handler, .command, .work], after: .signal(first))
      #expect(rig.take(.signal(15)) == [.die(15)])
    }
    // The end of the reader is not a signal.
    var rig = Rig(after: .readerGone)
    #expect(rig.take(.signal(2)).last == .drain(until: rig.end.deadline))
    #expect(rig.take(.signal(2)) == [.die(2)])
  }

  @Test func `--timeout is judged when its time has come, and not before`() {
    var rig = Rig(timeout: .seconds(5), count: nil)
    #expect(rig.rest == .seconds(5))
    #expect(rig.pass(.nanoseconds(4_999_999_999)) == [.proceed])
    #expect(rig.pass(.nanoseconds(1)) == [.cutCommand, .judge(.timeout(.seconds(5))), .proceed])
    #expect(rig.take(Self.timedOut).contains(.close))
    #expect(rig.outcome() == .status(.success, reason: "timeout"))
  }

  @Test func `--idle-timeout begins again with each event, and ends with the run`() {
    var rig = Rig(idle: .seconds(2))
    #expect(rig.pass(.seconds(1)) == [.proceed])
    rig.end.noteEvents(at: rig.now)
    #expect(rig.pass(.nanoseconds(1_999_999_999)) == [.proceed])
    #expect(rig.pass(.nanoseconds(1)) == [.judge(.idleTimeout(.seconds(2))), .proceed])
    rig = Rig(idle: .seconds(2), after: Self.lost)
    rig.end.noteEvents(at: rig.now)
    #expect(!rig.pass(.seconds(2)).contains(.judge(.idleTimeout(.seconds(2)))))
  }

  @Test func `--on-idle runs once in a silence, and again in one after the next event`() {
    var rig = Rig()
    rig.end = RunEnd(idleTimeout: .seconds(2), outlastsSilence: true, at: Rig.start)
    for _ in 1...2 {
      #expect(rig.pass(.seconds(2)) == [.silence(.seconds(2)), .proceed])
      #expect(rig.end.deadline == nil && rig.pass(.seconds(9)) == [.proceed])
      rig.end.noteEvents(at: rig.now)
    }
    _ = rig.take(Self.lost)
    #expect(!rig.pass(.seconds(2)).contains(.silence(.seconds(2))))
  }

  @Test func `of two limits at the same time --timeout is judged`() {
    var rig = Rig(timeout: .seconds(2), idle: .seconds(2))
    #expect(
      rig.pass(.seconds(2)).filter { $0 != .cutCommand } == [
        .judge(.timeout(.seconds(2))), .proceed,
      ])
    #expect(rig.take(Self.timedOut).first == .close)
    #expect(rig.end.deadline.map { rig.now.duration(to: $0) } == RunEnd.goodbyeTime)
  }

  @Test func `a second after --timeout a stalled reader holds the end up no more`() {
    var rig = Rig(timeout: .seconds(5), waiting: [.feed, .output, .handler])
    _ = rig.pass(.seconds(5))
    _ = rig.take(Self.timedOut)
    #expect(rig.pass(.milliseconds(200)).contains(.hangUp))
    #expect(rig.pass(.milliseconds(799)) == [.drain(until: rig.now.advanced(by: .milliseconds(1)))])
    #expect(rig.pass(.milliseconds(1)) == [.cut(passing: nil), .drain(until: nil)])
    rig.waiting = [.output, .command, .work]
    let ending = RunEnd.Ending.status(.timedOut, reason: "timeout")
    #expect(rig.steps() == [.tellMissed, .tellExit(ending), .finish(ending)])
  }

  @Test func `--timeout limits an end that has begun for another reason`() {
    var rig = Rig(
      timeout: .seconds(5), count: nil, waiting: [.output], after: .closed(.streamEnded))
    #expect(!rig.pass(.seconds(5)).contains(.judge(.timeout(.seconds(5)))))
    #expect(rig.pass(.seconds(1)).last == .finish(.status(.success, reason: "connection")))
  }

  @Test func `a reached count waits for the output beyond --timeout, but not for commands`() {
    var rig = Rig(
      timeout: .seconds(5), waiting: [.output, .handler], after: .satisfied(reason: "count"))
    _ = rig.pass(.seconds(5))
    #expect(rig.pass(.seconds(1)) == [.cut(passing: nil), .drain(until: nil)])
    rig.waiting = [.output]
    #expect(rig.pass(.seconds(3600)).last == .drain(until: nil))
    #expect(rig.outcome() == .status(.success, reason: "count"))
  }

  // MARK: Random runs

  @Test(arguments: 0..<40)
  func `no run forgets its ending, ends twice or waits for a time that has passed`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<50 { walk(&random) }
  }

  private func walk(_ random: inout SeededGenerator) {
    var rig = Rig(
      timeout: Bool.random(using: &random)
        ? .milliseconds(Int.random(in: 0...3000, using: &random)) : nil,
      idle: Bool.random(using: &random)
        ? .milliseconds(Int.random(in: 0...900, using: &random)) : nil)
    var all: [RunEnd.Step] = []
    var signals = 0
    for _ in 0..<40 {
      let before = rig.end.ending
      var steps: [RunEnd.Step]
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        let event = Self.causes[Int.random(in: 0..<Self.causes.count, using: &random)].0
        if case .signal = event { signals += 1 }
        steps = rig.take(event)
      case 1:
        rig.end.noteEvents(at: rig.now)
        steps = rig.steps()
      case 2:
        rig.waiting = RunEnd.Waiting(rawValue: UInt8.random(in: 0..<32, using: &random))
        steps = rig.steps()
      default: steps = rig.pass(.milliseconds(Int.random(in: 0...400, using: &random)))
      }
      let isJudged = steps.contains { if case .judge = $0 { true } else { false } }
      if isJudged { steps += rig.take(Self.timedOut) }
      check(rig, before, steps, signals)
      all += steps
      guard case .proceed? = steps.last else {
        guard case .drain? = steps.last else { break }
        continue
      }
    }
    #expect(all.filter { $0 == .close }.count <= 1)
    #expect(all.filter { $0 == .cutCommand }.count <= 2)
    #expect(all.filter(\.tellsExit).count <= 1)
  }

  private func check(_ rig: Rig, _ before: RunEnd.Ending?, _ steps: [RunEnd.Step], _ signals: Int) {
    #expect(steps.count < 100)
    let ending = rig.end.ending
    if let deadline = rig.end.deadline { #expect(deadline > rig.now) }
    if let before, ending != before {
      let isSignal = if case .signal = ending { true } else { false }
      #expect(isSignal || before.isSuccess)
    }
    switch steps.last {
    case .proceed?: #expect(ending == nil)
    case .finish(let last)?: #expect(last == ending && !rig.waiting.contains(.handler))
    case .die?: #expect(signals > 1)
    default: #expect(ending != nil)
    }
    if steps.contains(where: \.tellsExit) { #expect(!rig.waiting.contains(.handler)) }
  }
}

extension RunEnd.Step {
  fileprivate var tellsExit: Bool {
    if case .tellExit = self { true } else { false }
  }
}

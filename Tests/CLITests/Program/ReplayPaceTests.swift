import Foundation
import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

@Suite("trigger - --speed: a recording at its own pace", .runsPrograms)
struct ReplayPaceTests {
  private static let start = Instant(nanoseconds: 5_000_000_000)

  /// Returns the due times in milliseconds after the first line, each checked when the previous
  /// line was due.
  private func times(speed: Double, _ stamps: String?...) -> [Int64] {
    var pace = ReplayPace(speed: speed)
    var now = Self.start
    return stamps.map { stamp in
      let line = stamp.map { #"{"received_at":"\#($0)"}"# } ?? "{}"
      let due = pace.time(of: Array(line.utf8), at: now)
      now = max(now, due ?? now)
      return Self.start.duration(to: due ?? now).wholeNanoseconds / 1_000_000
    }
  }

  @Test func `lines are due as far apart as they came, times the factor`() {
    let stamps = ["2026-11-21T10:00:00.000Z", "2026-11-21T10:00:01.500Z", "2026-11-21T10:01:00Z"]
    #expect(times(speed: 1, stamps[0], stamps[1], stamps[2]) == [0, 1500, 60_000])
    #expect(times(speed: 10, stamps[0], stamps[1], stamps[2]) == [0, 150, 6000])
    #expect(times(speed: 0.5, stamps[0], stamps[1]) == [0, 3000])
  }

  @Test func `a line without a time follows the one before, and time never runs back`() {
    #expect(
      times(
        speed: 1, nil, "2026-11-21T10:00:10Z", nil, "2026-11-21T10:00:12Z", "2026-11-21T10:00:11Z",
        "nonsense") == [0, 0, 0, 2000, 2000, 2000])
  }

  @Test func `a year between two lines waits a century at most`() {
    let due = times(speed: 0.001, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
    #expect(due == [0, 100 * 365 * 86_400_000])
  }

  @Test func `a recording is sent in its order, and what is due at once goes in one call`() throws {
    let server = try LocalServer()
    let listener = try server.subscribe(["news"], "-L")
    let program = try server.start("trigger", "-", "--speed", "1000", "-v", input: .pipe)
    let lines = ["00.000", "00.000", "05.000", "08.000"].enumerated().map {
      #"{"received_at":"2026-11-21T10:00:\#($1)Z","event":"e","channel":"news","data":\#($0)}"#
        + "\n"
    }
    program.write(Array(lines.joined().utf8))
    program.closeInput()
    #expect(
      try listener.lines(4)
        == (0..<4).map { #"{"event":"e","channel":"news","data":\#($0)}"# })
    let result = try program.result()
    #expect(result.ending == .exited(0))
    // A late machine has several events due at once.
    let told = ["1 call", "2 calls", "3 calls"].map { "sent 4 events in \($0)\n" }
    #expect(told.contains { result.errorText.hasSuffix($0) })
  }
}

import Foundation
import PusherCore
import Testing

@Suite(
  "sse, against nginx with nchan",
  .needs(.nginx), .runsPrograms)
struct NchanTests {
  private func expectEvents(_ numbers: Range<Int>, from program: ChildProgram) throws {
    for number in numbers {
      let line = try program.line()
      guard line.hasPrefix(#"{"event":"message","id":""#),
        line.hasSuffix(#""data":{"n":\#(number)}}"#)
      else { throw Unexpected("event \(number) is \(line)") }
    }
  }

  /// nchan's IDs are a second and a number within it; a restart forgets the number.
  private func awaitNextSecond() {
    let second = SystemClock.wall().secondsSince1970
    while SystemClock.wall().secondsSince1970 == second { usleep(20_000) }
  }

  @Test func `of 3,000 events each is printed once, also across a server's restart`() throws {
    let nginx = try LocalNginx()
    let events = (0..<3000).map { #"{"n":\#($0)}"# }
    let program = try PusherCLI.start([
      "sse", nginx.url, "-n", "3000", "--retry-max-delay", "300ms", "-L", "-v",
    ])
    #expect(try program.line().contains("pusher-cli:connected"))
    try nginx.publish(Array(events[..<1500]))
    try expectEvents(0..<1500, from: program)
    awaitNextSecond()
    try nginx.restart()
    // Subscribers may or may not be connected; the last event ID makes both cases alike.
    try nginx.publish(Array(events[1500...]))
    #expect(try program.line().contains("pusher-cli:disconnected"))
    var line = try program.line()
    while !line.contains("pusher-cli:connected") { line = try program.line() }
    #expect(line.contains(#""last_event_id":""#))
    #expect(try program.line().contains("pusher-cli:gap"))
    try expectEvents(1500..<3000, from: program)
    #expect(try program.line().contains(#"{"event":"pusher-cli:exit","data":{"status":0"#))
    #expect(try program.wait() == .exited(0))
  }
}

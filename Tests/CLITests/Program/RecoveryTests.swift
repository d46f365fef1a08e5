import Foundation
import PusherCore
import TestSupport
import Testing

/// A stream of numbered events of Protocol V2, which every connection shares.
///
/// The server keeps all events, as a server whose window never passes, unless a test says so.
private final class NumberedChannel: Sendable {
  private let head = Locked(0)

  var last: Int { head.withLock { $0 } }

  /// Publishes events while nobody is connected.
  func skip(_ count: Int) { head.withLock { $0 += count } }

  /// Publishes one more event to this connection.
  func publish(_ connection: ScriptedConnection) throws {
    let number = head.withLock { head in
      head += 1
      return head
    }
    try connection.send(text: Self.event(number))
  }

  static func event(_ number: Int) -> String {
    #"{"event":"n","channel":"orders","data":"\#(number)","message_id":"m\#(number)","stream_id":"s","serial":\#(number)}"#
  }

  static func line(_ number: Int) -> String {
    #"{"event":"n","channel":"orders","id":"m\#(number)","serial":\#(number),"data":\#(number)}"#
  }

  /// Greets, confirms the channel and answers a resume; returns the position that it asked for.
  @discardableResult
  func join(_ connection: ScriptedConnection, resumes: Bool) throws -> JSONValue? {
    try connection.upgrade(try connection.request(), deflate: false)
    try connection.send(
      text:
        #"{"event":"sockudo:connection_established","data":"{\"socket_id\":\"1.2\",\"activity_timeout\":120}"}"#
    )
    _ = try connection.message()
    try connection.send(
      text:
        #"{"event":"sockudo_internal:subscription_succeeded","channel":"orders","data":{"stream_id":"s","serial":\#(last)}}"#
    )
    guard resumes else { return nil }
    let question = try connection.message()
    let position = question["data"]?["channel_positions"]?["orders"]
    let first = (position?["serial"]?.integer ?? 0) + 1
    for number in stride(from: first, through: last, by: 1) {
      try connection.send(text: Self.event(number))
    }
    try connection.send(
      text:
        #"{"event":"sockudo:resume_success","data":{"recovered":[{"channel":"orders","source":"hot","replayed":\#(max(0, last - first + 1)),"position":{"stream_id":"s","serial":\#(last)}}],"failed":[]}}"#
    )
    return position
  }
}

@Suite("Protocol V2: what a lost connection missed", .runsPrograms)
struct RecoveryTests {
  private let source = NumberedChannel()
  private let state = TemporaryFolder.shared.file("state")

  private func arguments(_ server: ScriptedServer, _ options: [String]) -> [String] {
    ["subscribe"] + server.address
      + ["--service", "sockudo", "orders", "--retry-delay", "10ms", "--retry-max-delay", "10ms"]
      + options
  }

  private func start(_ server: ScriptedServer, _ options: String...) throws -> ChildProgram {
    try PusherCLI.start(arguments(server, options))
  }

  @Test func `events have their id and serial, and the missed ones come before the next`() throws {
    let server = try ScriptedServer { [source] connection in
      try source.join(connection, resumes: connection.number > 1)
      try source.publish(connection)
      if connection.number > 1 { try connection.stay() }
      source.skip(2)
    }
    let result = try start(server, "-L", "-n", "4", "--summary").result()
    let lines = result.outputText.split(separator: "\n").map(String.init)
    let told = lines.filter { !$0.contains("\"sockudo:") }
    #expect(told.filter { $0.contains("\"n\"") } == (1...4).map(NumberedChannel.line))
    #expect(
      told.contains { $0.contains("pusher-cli:recovered") && $0.contains(#""channel":"orders""#) })
    #expect(!result.outputText.contains("pusher-cli:gap"))
    #expect(result.errorText.contains(" recovered in 1 resumption, 0 gaps"))
  }

  @Test func `a gap names the channel, the server's reason and the serials`() throws {
    let server = try ScriptedServer { [source] connection in
      try source.join(connection, resumes: false)
      guard connection.number > 1 else { return try source.publish(connection) }
      _ = try connection.message()
      try connection.send(
        text:
          #"{"event":"sockudo:resume_failed","data":{"channel":"orders","code":"position_expired","reason":"recovery_window_exceeded","current_stream_id":"s","oldest_available_serial":90,"newest_available_serial":99}}"#
      )
      try source.publish(connection)
      try connection.stay()
    }
    let result = try start(server, "-L", "-n", "2").result()
    let gap = try JSONParser.parse(
      try #require(
        result.outputText.split(separator: "\n").first { $0.contains("cli:gap") }.map(String.init)))
    #expect(gap["channel"]?.text == "orders")
    #expect(
      gap["data"]?.members?.dropFirst(3).map { "\($0.name) \($0.value.jsonText)" } == [
        #"code "position_expired""#, #"reason "recovery_window_exceeded""#, "serial 1",
        #"expected_stream_id "s""#, #"current_stream_id "s""#, "oldest_available_serial 90",
        "newest_available_serial 99",
      ])
    #expect(
      result.errorText.contains(
        "events of orders after serial 1 may be missing (position_expired: recovery_window_exceeded)"
      ))
  }

  @Test func `the next run begins after the last event of this one`() throws {
    let asked = Record<String>()
    let server = try ScriptedServer { [source] connection in
      let position = try source.join(connection, resumes: connection.number > 1)
      asked.add(position?.jsonText ?? "none")
      for _ in 0..<3 { try source.publish(connection) }
      try connection.stay()
    }
    let first = try start(server, "-n", "2", "--state-file", state).result()
    #expect(first.outputText == (1...2).map { NumberedChannel.line($0) + "\n" }.joined())
    let text = try SystemFile.text(state)
    #expect(
      text
        == "pusher-cli state 1\nurl ws://127.0.0.1:\(server.port)/app/test-key\n"
        + #"position {"channel":"orders","stream_id":"s","serial":2,"last_message_id":"m2"}"#
        + "\nid \n")
    let second = try start(server, "-n", "3", "--state-file", state).result()
    #expect(second.outputText == (3...5).map { NumberedChannel.line($0) + "\n" }.joined())
    #expect(asked.values.last == #"{"stream_id":"s","serial":2,"last_message_id":"m2"}"#)
    #expect(!second.errorText.contains("missing"))
  }

  @Test(arguments: [("50", "50"), ("90s", #"{"seconds":90}"#)])
  func `a rewind is asked for, and a cut one is told`(_ typed: String, _ sent: String) throws {
    let asked = Record<String>()
    let server = try ScriptedServer { [source] connection in
      try connection.upgrade(try connection.request(), deflate: false)
      try connection.send(
        text: #"{"event":"sockudo:connection_established","data":{"socket_id":"1.2"}}"#)
      asked.add(try connection.message()["data"]?["rewind"]?.jsonText ?? "none")
      try connection.send(
        text:
          #"{"event":"sockudo_internal:subscription_succeeded","channel":"orders","data":{"stream_id":"s","serial":1}}"#
      )
      try source.publish(connection)
      try connection.send(
        text:
          #"{"event":"sockudo:rewind_complete","channel":"orders","data":{"historical_count":1,"live_count":0,"complete":false,"truncated_by_retention":true}}"#
      )
      try source.publish(connection)
      try connection.stay()
    }
    let result = try start(server, "-n", "2", "-L", "--rewind", typed).result()
    #expect(asked.values == [sent])
    #expect(
      result.outputText.contains(
        #""event":"sockudo:rewind_complete","channel":"orders","data":{"historical_count":1"#))
    #expect(
      result.errorText.contains(
        "warning: the server has not all events of orders that --rewind asks for (cut by its retention)"
      ))
  }

  /// 300 events through 10 cuts and 3 kills; `scripts/endurance.sh recovery` draws more.
  @Test func `through cuts and kills every event is printed, and twice only what was in flight`()
    throws
  {
    let server = try ScriptedServer { [source] connection in
      try source.join(connection, resumes: connection.number > 1)
      for _ in 0..<(connection.number % 7 * 6 + 4) where source.last < 300 {
        try source.publish(connection)
      }
      if source.last >= 300 { try connection.stay() }
      source.skip(min(3, 300 - source.last))
    }
    let file = TemporaryFolder.shared.file("events")
    let words = arguments(server, ["--state-file", state, "--reconnect", "always"])
    var random = SeededGenerator(seed: 55)
    for kill in 0..<3 {
      let program = try PusherCLI.appending(to: file) { try PusherCLI.start(words, output: $0) }
      try waitUntil("a position is saved") {
        (try? SystemFile.text(state))?.contains("position") == true
      }
      let number = kill * 90 + 20 + random.below(60)
      try waitUntil("event \(number) is printed") {
        (try? SystemFile.text(file))?.contains(NumberedChannel.line(number)) == true
      }
      program.send(SIGKILL)
      _ = try program.wait()
    }
    let last = try PusherCLI.appending(to: file) { try PusherCLI.start(words, output: $0) }
    try waitUntil("the last event is printed") {
      (try? SystemFile.text(file))?.contains(NumberedChannel.line(300)) == true
    }
    last.send(SIGTERM)
    _ = try last.wait()
    let text = try SystemFile.text(file)
    let numbers = text.split(separator: "\n").compactMap {
      (try? JSONParser.parse(String($0)))?["serial"]?.integer
    }
    #expect(Set(numbers) == Set(1...300))
    // Only a new run repeats events, so numbers go back at most once for each kill.
    #expect(zip(numbers, numbers.dropFirst()).filter { $1 <= $0 }.count <= 3)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 <= $0 + 1 })
  }
}

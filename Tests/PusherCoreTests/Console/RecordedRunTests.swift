import Foundation
import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "Recordings".
struct `The console: a past run` {
  /// A file that goes with its test.
  private final class File {
    let url = FileManager.default.temporaryDirectory
      .appending(path: "recording-\(UUID().uuidString)")
    deinit { try? FileManager.default.removeItem(at: url) }
  }

  private let file = File()

  private func console(_ text: String) throws -> ConsoleHarness {
    try Data(text.utf8).write(to: file.url)
    return try ConsoleHarness(recording: file.url.path)
  }

  @Test func `the entries of a past run come in order, and then its end`() throws {
    let lines = (0..<20_000).map { #"{"n":\#($0),"kind":"event","event":"e\#($0)"}"# }
    let console = try console(lines.joined(separator: "\n") + "\n")
    let client = try console.playedStream()
    let events = console.entries(client, "event").compactMap { $0["event"]?.text }
    #expect(events == (0..<20_000).map { "e\($0)" })
    #expect(client.text.holds(#""recording":"recording-"#))
    #expect(!client.text.holds("/recording-"), "folders are not shown")
  }

  @Test func `large entries follow one another at once`() throws {
    // Each wait for the server's next scan takes a second, and the test's limit is a minute.
    let line = #"{"kind":"event","data":"\#(String(repeating: "x", count: 260 << 10))"}"# + "\n"
    let console = try console(String(repeating: line, count: 62))
    let (port, wakeUp) = (console.test.server.port, console.test.harness.loop.wakeUp)
    let hasEnd = Locked(false)
    // A reader in the server's loop would make it go round.
    Thread.detachNewThread {
      guard let reader = try? LoopHarness() else { return }
      let client = RawClient(reader.loop, port: port, ConsoleHarness.streamRequest())
      reader.loop.beforeWait { [unowned reader] in if client.hasPlayed { reader.loop.stop() } }
      let isPlayed = reader.run()
      hasEnd.withLock { $0 = isPlayed }
      wakeUp.signal()
    }
    #expect(console.test.run { hasEnd.withLock { $0 } })
  }

  @Test func `a reader that comes back gets the lines after its last one`() throws {
    // The numbers of a recording of two runs begin anew, so lines are counted.
    let lines = [1, 2, 1, 2, 3].map { #"{"n":\#($0),"kind":"event","event":"e"}"# }
    let console = try console(lines.joined(separator: "\n") + "\n")
    let first = try console.playedStream()
    #expect(console.numbers(first) == [1, 2, 3, 4, 5])
    let instance = try #require(try console.hello(first)["instance"]?.text)
    let cases: [(id: String, numbers: [Int])] = [
      ("\(instance)-3", [4, 5]), ("\(instance)-9", []), ("0123456789abcdef-3", [1, 2, 3, 4, 5]),
    ]
    for (id, numbers) in cases {
      #expect(console.numbers(try console.playedStream(lastEventID: id)) == numbers)
    }
  }

  @Test func `a line that is no entry is told, and the others are shown`() throws {
    let console = try console("{\"kind\":\"event\"}\nnonsense\n[1]\n\n{\"kind\":\"user\"}")
    let client = try console.playedStream()
    #expect(
      console.entries(client, "error").compactMap { $0["reason"]?.text } == [
        "line 2 of the recording is not an entry", "line 3 of the recording is not an entry",
      ])
    #expect(console.entries(client, "user").count == 1)
  }

  @Test func `a line over 4 MiB is told as no entry, wherever its end is`() throws {
    let entry = #"{"kind":"user"}"#
    for length in [(4 << 20) - 40, 4 << 20, (4 << 20) + (64 << 10), 5 << 20] {
      let long = #"{"kind":"event","data":""# + String(repeating: "x", count: length) + #""}"#
      let console = try console("\(entry)\n\(long)\n\(entry)\n\(long)")
      let client = try console.playedStream()
      #expect(console.entries(client, "user").count == 2)
      let told = console.entries(client, "event").count + console.entries(client, "error").count
      #expect(told == 2, "\(length)")
      if length == 5 << 20 {
        #expect(console.entries(client, "error").map { $0["n"] } == [.integer(2), .integer(4)])
      }
    }
  }

  // MARK: Invalid recordings

  private func answersOthers(_ console: ConsoleHarness) throws -> Bool {
    let client = try console.stream()
    let answer = try console.ask("GET", "/nothing")
    client.close()
    return answer.status == 404
  }

  @Test func `a sparse file of 8 GiB holds nothing up, and the server's end ends it`() throws {
    let console = try console("")
    let handle = try FileHandle(forWritingTo: file.url)
    try handle.truncate(atOffset: 8 << 30)
    #expect(try answersOthers(console))
    let client = try console.stream()
    console.test.server.stop()
    #expect(console.test.run { client.hasEnded })
  }

  @Test func `blank lines without end hold nothing up`() throws {
    let console = try console(String(repeating: "\n", count: 32 << 20))
    #expect(try answersOthers(console))
  }

  @Test(.timeLimit(.minutes(10)))
  func `a pipe, a device and a folder are not opened`() throws {
    let pipe = file.url.path + ".fifo"
    #expect(mkfifo(pipe, 0o600) == 0)
    defer { unlink(pipe) }
    for path in [pipe, "/dev/zero", "/tmp", file.url.path + ".missing"] {
      let console = try ConsoleHarness(recording: path)
      let answer = try console.get("events")
      #expect(answer.status == 503, "\(path)")
      #expect(answer.error?.contains("the recording is gone") == true)
    }
  }

  @Test func `a recording has sixteen readers, and one more is refused until one leaves`() throws {
    let console = try console("{\"kind\":\"event\"}\n")
    let clients = try (0..<ServerFeed.readerLimit).map { _ in try console.stream() }
    #expect(try console.get("events").status == 503)
    #expect(!console.test.server.feed.isOpen, "nothing is noted for them")
    clients[0].close()
    #expect(console.getsRoom())
    _ = try console.stream()
  }

  @Test func `nothing can be asked of a past run`() throws {
    let console = try console("")
    let answer = try console.get("channels?app=3")
    #expect(answer.status == 409)
    #expect(answer.error?.contains("past run") == true)
  }
}

extension ConsoleHarness {
  /// A stream that has come to its last message.
  fileprivate func playedStream(lastEventID id: String? = nil) throws -> RawClient {
    let client = try stream(lastEventID: id)
    #expect(test.run { client.hasPlayed })
    return client
  }
}

extension RawClient {
  fileprivate var hasPlayed: Bool {
    // The whole text, searched in each round, would take a minute of a busy machine.
    let text = input.view
    return text[max(0, text.count - 200)..<text.count].text.holds("event: end")
  }
}

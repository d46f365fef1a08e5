import Foundation
import Testing

@testable import pusher_cli

struct `Messages on standard error` {
  private func said(
    _ threshold: Diagnostics.Level, isJournal: Bool = false, _ body: (Diagnostics) -> Void
  ) -> [String] {
    let (voice, lines) = Diagnostics.recorded(threshold, isJournal: isJournal)
    body(voice)
    return lines.values
  }

  @Test func `each message is one line with the program's name`() {
    let lines = said(.debug) { voice in
      voice.error("no app key")
      voice.warning("connection lost")
      voice.info("subscribed to a")
      voice.debug("< {}")
    }
    #expect(
      lines == [
        "pusher-cli: error: no app key\n", "pusher-cli: warning: connection lost\n",
        "pusher-cli: subscribed to a\n", "pusher-cli: < {}\n",
      ])
  }

  @Test func `a mistake in the command line has a second line that points to the help`() {
    let lines = said(.error) { $0.usage(UsageError("unknown option '--x'", helpFor: .serve)) }
    #expect(lines == ["pusher-cli: unknown option '--x'\n", "Try 'pusher-cli serve --help'.\n"])
    #expect(
      said(.error) { $0.usage(UsageError("no app key")) } == ["pusher-cli: error: no app key\n"])
  }

  @Test(arguments: [
    (Verbosity.quiet, false, Diagnostics.Level.error), (.quiet, true, .error),
    (.normal, false, .warning), (.normal, true, .info), (.verbose, false, .info),
    (.frames, false, .debug),
  ])
  func `a terminal is told more`(verbosity: Verbosity, isTerminal: Bool, level: Diagnostics.Level) {
    #expect(Diagnostics.threshold(verbosity, isTerminal: isTerminal) == level)
  }

  @Test func `messages below the chosen level are not said`() {
    #expect(
      said(.error) {
        $0.warning("w")
        $0.info("i")
        $0.debug("d")
      } == [])
  }

  @Test func `the journal gets priorities`() {
    let lines = said(.debug, isJournal: true) { voice in
      voice.error("e")
      voice.warning("w")
      voice.info("i")
    }
    #expect(lines.map { String($0.prefix(3)) } == ["<3>", "<4>", "<6>"])
  }

  @Test func `the journal is believed only when it is this descriptor`() throws {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    var status = stat()
    #expect(fstat(descriptor, &status) == 0)
    let stream = "\(status.st_dev):\(status.st_ino)"
    #expect(StandardDescriptors.isJournal(stream, descriptor: descriptor))
    let another = "\(status.st_dev):\(status.st_ino + 1)"
    #expect(!StandardDescriptors.isJournal(another, descriptor: descriptor))
    for wrong in [nil, "", "1", "a:b", "1:2:3"] {
      #expect(!StandardDescriptors.isJournal(wrong, descriptor: descriptor))
    }
  }

  @Test func `foreign text cannot break the line or drive the terminal`() {
    #expect(Diagnostics.escaped("a\nb\r\tc") == "a\\nb\\r\\tc")
    #expect(Diagnostics.escaped("\u{1b}[2J\u{7f}\u{9b}\0") == "\\u{1b}[2J\\u{7f}\\u{9b}\\u{0}")
    #expect(Diagnostics.escaped("\u{202e}x\u{2028}") == "\\u{202e}x\\u{2028}")
    #expect(Diagnostics.escaped("grün 日本 …") == "grün 日本 …")
    #expect(Diagnostics.escaped("\r\n") == "\\r\\n")
    #expect(said(.error) { $0.error("a\nb") } == ["pusher-cli: error: a\\nb\n"])
  }

  @Test func `an app's key is shortened in messages`() {
    #expect(Diagnostics.shortened(key: "ab12cd34") == "ab12…")
    #expect(Diagnostics.shortened(key: "abcd") == "abcd")
  }
}

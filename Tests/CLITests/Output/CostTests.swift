import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

/// Any text of N bytes costs at most a fixed multiple of N.
///
/// The test measures no time. The square of a text's length is a billion steps, which run into the
/// time limit unless each takes only a few instructions.
@Suite(.serialized, .timeLimit(.minutes(1))) struct `What hostile text costs` {
  private static let length = 1 << 15

  /// Repeated texts that are expensive for searches of grapheme clusters, names, quotes or words.
  static let alphabets = [
    "\u{1F1E6}", "e\u{301}\u{302}", "\u{1F468}\u{200D}", "\u{1100}\u{1161}", "\r\n", "\\",
    "\"auth\":\"", "private-a,", "a:", "@", "/", "[", "ignatur", "*", "${", "=",
  ]

  private static func message(_ event: String, _ text: String, channel: String = "private-a")
    -> [UInt8]
  {
    let names = event.hasPrefix("pusher:") ? ["message", "error", "type", "user_data"] : ["data"]
    let data = JSONValue.object([.init("code", .null)] + names.map { .init($0, .string(text)) })
    let message: JSONValue = ["event": .string(event), "channel": .string(channel), "data": data]
    return Array(message.jsonText.utf8)
  }

  private static func receive(_ bytes: [UInt8]) {
    var session = Session(options: SessionOptions(), random: SystemRandomNumberGenerator())
    let now = Instant(nanoseconds: 0)
    for channel in ["private-a", "presence-b", "news"] { session.subscribe(channel, at: now) }
    session.connect(at: now)
    let greeting = #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\"}"}"#
    withView(Array(greeting.utf8)) { _ = session.receive($0, at: now) }
    while let output = session.nextOutput() {
      if case .authorize(let request) = output {
        session.authorized(request, .success(Authorization(PusherAuth(auth: "k:s"))), at: now)
      }
    }
    withView(bytes) { _ = session.receive($0, at: now) }
    while session.nextOutput() != nil {}
  }

  private static func print(_ bytes: [UInt8], _ output: OutputFormat) {
    guard var settings = try? PrintSettings(EventForm(output: output, color: .never)) else {
      return
    }
    settings.includedEvents = ["*a*b"]
    let rig = PrinterRig(settings, isTerminal: true)
    rig.take(bytes)
    Envelope.with(bytes) {
      rig.printer.print($0)
      rig.printer.print($0, named: "ab")
    }
  }

  /// Operations on text from a peer.
  static let works: [(name: String, work: @Sendable (String) -> Void)] = [
    ("redaction", { _ = Redaction.redact($0) }),
    (
      "messages to people",
      { text in
        let (voice, _) = Diagnostics.recorded()
        voice.error(text)
        voice.info(text)
        voice.debug(Redaction.redact(text))
      }
    ),
    ("pusher:error", { receive(message("pusher:error", $0)) }),
    ("subscription_error", { receive(message("pusher:subscription_error", $0)) }),
    ("signin_error", { receive(message("pusher:signin_error", $0)) }),
    ("an internal event", { receive(message("pusher_internal:" + $0, "")) }),
    ("an event's name", { receive(message($0, "", channel: $0)) }),
    ("a line of JSON", { print(message("ab", $0), .json) }),
    ("pretty output", { print(message($0, $0, channel: $0), .pretty) }),
    ("an answer of the API", { _ = RefusalReason.line(of: Array($0.utf8)) }),
    (
      "a redirect",
      { text in
        var trail = RedirectTrail(url: HTTPURL(scheme: .http, host: "a", port: 80))
        for location in ["http://" + text, "//" + text, "/" + text, text + "@", "http://a/" + text]
        {
          try? trail.follow(location: location)
        }
      }
    ),
    (
      "the fields of a head",
      { text in
        let headers = HTTPHeaders([("Connection", text), ("Retry-After", text)])
        _ = headers.tokens("Connection")
        _ = HTTPDate.wait(text, now: SystemClock.wall())
        _ = PercentEncoding.decode(text)
      }
    ),
    ("a pattern", { _ = Glob("*a*b").matches($0) }),
    (
      "a pattern of the longest piece of a text",
      { text in _ = Glob("*" + String(text.unicodeScalars.prefix(1000)) + "b").matches(text) }
    ),
    (
      "a condition",
      { text in
        let line: JSONValue = ["event": "e", "data": .string(text)]
        let filter = (try? WhereClause(#"data ~ "*a*b""#)).flatMap { WhereFilter([$0]) }
        withView(Array("\(line.jsonText)\n".utf8)) { _ = filter?.passes(EventLine($0)) }
      }
    ),
    (
      "references of a file of variables",
      { text in
        let lines = (0..<1000).map { "A\($0 + 1)=${A\($0)}\n" }.joined()
        _ = try? DotEnv(parsing: "A0='\(text.prefix(64))'\n" + lines + "B=\(text)") { _ in nil }
      }
    ),
    ("the text of a pattern", { _ = Glob($0) }),
    ("a file of variables", { _ = try? DotEnv(parsing: "A=" + $0) { _ in nil } }),
    (
      "a file of configuration",
      { text in
        for text in [text, text + "=1", "header=" + text] {
          _ = try? ConfigurationFile(parsing: "[sse]\n" + text, path: "c", home: "/h")
        }
      }
    ),
    ("an unknown option", { _ = try? Invocation(["subscribe", "--" + $0]) }),
    (
      "what is shown of a value",
      { text in _ = Set(Flag.all.map(\.disclosure)).map { $0.shown(text) } }
    ),
  ]

  @Test(arguments: works.map(\.name))
  func `a long text is done with`(name: String) throws {
    let work = try #require(Self.works.first { $0.name == name }?.work)
    for piece in Self.alphabets {
      work(String(repeating: piece, count: Self.length / piece.utf8.count))
    }
  }

  @Test func `a message is cut after 4096 bytes, between two characters`() {
    let (voice, lines) = Diagnostics.recorded()
    voice.error(String(repeating: "ü", count: 3000))
    voice.debug(String(repeating: "a", count: 5000))
    voice.error(String(repeating: "a", count: 4096))
    let cut = String(repeating: "ü", count: 2048)
    #expect(lines.values[0] == "pusher-cli: error: \(cut)… (1904 more bytes)\n")
    #expect(lines.values[1].utf8.count == 5013)
    #expect(lines.values[2] == "pusher-cli: error: \(String(repeating: "a", count: 4096))\n")
  }
}

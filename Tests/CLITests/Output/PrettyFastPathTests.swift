import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

/// Both ways from a message to the page of `-o pretty`: the fast one may decline, and must write what the general one
/// writes.
@Suite struct `The fast path of -o pretty` {
  /// The clock and the terminal of both printers.
  private final class Surroundings {
    var width = 80
    var time = WallTime(millisecondsSince1970: 1_800_000_000_000)
  }

  /// Two printers that differ in nothing but the way.
  private final class Rig {
    private let around = Surroundings()
    private let fastOutput = ByteBuffer()
    private let generalOutput = ByteBuffer()
    let fast: EventPrinter
    private let general: EventPrinter
    /// How many messages the fast path took.
    private(set) var taken = 0

    init(width: Int, color: ColorChoice = .never, isUnicode: Bool = true, filter: [String] = []) {
      around.width = width
      var settings = PrintSettings(
        includedEvents: filter, excludedEvents: [], count: nil, timeout: nil, idleTimeout: nil,
        output: .pretty, template: nil, terminator: 0x0A, hasTimestamps: false,
        keepsRawData: false, printsLifecycle: false, bufferSize: 16 << 20, color: color)
      settings.page.isUnicode = isUnicode
      let printers = [fastOutput, generalOutput].map { [settings, around] output in
        EventPrinter(
          settings: settings, service: .pusher, output: output, isTerminal: true,
          columns: { around.width }, wallTime: { around.time })
      }
      (fast, general) = (printers[0], printers[1])
    }

    /// Begins a burst, so many seconds later.
    func beginBurst(after seconds: Int = 0) {
      around.time.millisecondsSince1970 += Int64(seconds) * 1000
      fast.endBurst()
      general.endBurst()
    }

    /// Prints what a channel tells of itself, which has one way only.
    func printMember() {
      for printer in [fast, general] {
        printer.print(event: "pusher:member_added", channel: "news", data: ["user_id": "7"])
      }
    }

    /// What both ways write for a message; `nil` for one that is no event.
    @discardableResult
    func check(_ message: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) -> String? {
      fastOutput.removeAll()
      generalOutput.removeAll()
      let isEvent = withView(message) { view in
        let isTaken = fast.take(message: view) == .taken
        if isTaken { taken += 1 }
        guard let envelope = try? Envelope(view) else {
          if isTaken { Issue.record("took what is no event", sourceLocation: sourceLocation) }
          return false
        }
        if !isTaken { fast.print(envelope) }
        general.print(envelope)
        return true
      }
      let text = generalOutput.view.text
      if isEvent, fastOutput.array != generalOutput.array || fast.count != general.count {
        Issue.record(
          "\(around.width) columns: \(String(decoding: message, as: UTF8.self))\n\(fastOutput.view.text)\(text)",
          sourceLocation: sourceLocation)
      }
      return isEvent ? text : nil
    }

    @discardableResult
    func check(_ message: String, sourceLocation: SourceLocation = #_sourceLocation) -> String? {
      check(Array(message.utf8), sourceLocation: sourceLocation)
    }
  }

  private static let widths = [1, 20, 21, 33, 40, 59, 60, 79, 80, 81, 120, 300, 1000, 5000]
  /// Text in which words are folded, and escapes that are written otherwise than they came.
  private static let pieces = [
    "word ", "a", " ", "  ", "longerword", "/", "é", "中文", "e\u{301}", "👍", "\u{202E}", "\u{9B}",
    "\u{7F}", "\n", "\t", "\"", "\\", "\u{1B}[2J", "\u{2028}", "\u{1D49C}",
  ]

  private static func message(
    _ data: String, event: String = "tick", channel: String = "news",
    encoding: JSONEncoding = .minimal
  ) -> String {
    #"{"event":"\#(event)","channel":"\#(channel)","data":\#(encoding.quoted(data))}"#
  }

  private static func text(_ random: inout SeededGenerator) -> String {
    let count = [3, 12, 40, 200][random.below(4)]
    // Most is plain, which the fast path is for.
    let kinds = random.below(3) > 0 ? 5 : pieces.count
    return (0..<random.below(count)).map { _ in pieces[random.below(kinds)] }.joined()
  }

  private static func value(_ depth: Int, _ random: inout SeededGenerator) -> JSONValue {
    switch random.below(depth > 0 ? 8 : 4) {
    case 0: return .number(["0", "-1.5e3", "1234567890123", "100.00"][random.below(4)])
    case 1: return [.null, .bool(true), .bool(false)][random.below(3)]
    case 2, 3: return .string(text(&random))
    case 4, 5: return .array((0..<random.below(6)).map { _ in value(depth - 1, &random) })
    default:
      return .object(
        (0..<random.below(6)).map { _ in
          .init(random.below(4) > 0 ? "name" : text(&random), value(depth - 1, &random))
        })
    }
  }

  @Test(arguments: widths) func `random data is laid out alike on both ways`(width: Int) {
    var random = SeededGenerator(seed: UInt64(width))
    let rig = Rig(
      width: width, color: width & 1 == 0 ? .always : .never, isUnicode: width % 3 != 0)
    let channels = ["a", "news", "private-" + String(repeating: "orders.", count: 6), "日本語"]
    var (event, channel) = ("tick", "news")
    for round in 0..<1200 {
      if random.below(4) == 0 {
        event =
          ["tick", "price.updated", String(repeating: "event", count: 9), "été"][
            random.below(4)]
        channel = channels[random.below(channels.count)]
      }
      if random.below(8) == 0 { rig.beginBurst(after: [0, 1, 40_000][random.below(3)]) }
      let encoding = random.below(3) > 0 ? .minimal : JSONEncoding.all[random.below(5)]
      let value = Self.value(round % 6, &random)
      let data = random.below(9) == 0 ? Self.text(&random) : encoding.text(value)
      rig.check(Self.message(data, event: event, channel: channel, encoding: encoding))
    }
    #expect(rig.taken > 600)
  }

  @Test func `generated and broken messages are laid out alike on both ways`() {
    var random = SeededGenerator(seed: 41)
    let rig = Rig(width: 60)
    for _ in 0..<3000 {
      let message = RandomMessage(&random)
      rig.check(message.bytes)
      rig.check(message.mutated(&random))
    }
    #expect(rig.taken > 1500)
  }

  @Test func `nesting is taken apart alike, down to what is too deep`() {
    for width in [20, 40, 80] {
      let rig = Rig(width: width)
      for depth in [1, 2, 14, 15, 16, 17, 18, 40, 61, 62, 63, 64, 249, 250, 251, 300] {
        for inner in ["", "1", #"{"a":[]}"#, #""\#(String(repeating: "text ", count: 60))""#] {
          for (opening, closing) in [("[", "]"), (#"{"a":"#, "}"), (#"["x",{"b":"#, "},null]")] {
            let inner = inner.isEmpty && opening != "[" ? "{}" : inner
            rig.check(
              Self.message(
                String(repeating: opening, count: depth) + inner
                  + String(repeating: closing, count: depth)))
          }
        }
      }
    }
  }

  @Test func `every length of names and text around the width is laid out alike`() {
    for width in [20, 40, 61] {
      let rig = Rig(width: width)
      for length in 0..<(2 * width) {
        let text = String(repeating: "x", count: length)
        let words = String(repeating: "wo rd  ", count: length).prefix(length)
        for data in [
          #""\#(text)""#, #"["\#(text)"]"#, #"{"a":"\#(text)","b":1}"#,
          #"{"\#(text)":[1,2,3],"b":[]}"#,
          #"{"\#(words)":{"\#(words)":"\#(words)"},"\#(text)":{}}"#,
          "[\(text.isEmpty ? "" : "1")\(text.dropFirst().map { _ in "2" }.joined())]",
        ] {
          rig.check(Self.message(data))
        }
      }
    }
  }

  @Test func `a plain event like the last one is written without the layout`() {
    let rig = Rig(width: 80)
    func outcome(_ message: String) -> EventPage.Outcome {
      let transcoder = EventTranscoder(protocolPrefix: "pusher", reservedPrefix: "pusher-cli:")
      return withView(Array(message.utf8)) {
        rig.fast.eventPage.append($0, transcoder, filter: nil)
      }
    }
    let long = #"{"text":"\#(String(repeating: "long ", count: 40))","list":[[1],{"a":"b"}]}"#
    for data in ["1", #""text""#, #"{"a":[1,{"b":null}]}"#, long] {
      rig.check(Self.message("0"))
      #expect(outcome(Self.message(data)) == .written, "\(data)")
    }
    #expect(outcome(Self.message("1", channel: "other")) == .other)
    #expect(outcome(Self.message("1", event: "other")) == .other)
    for data in [
      #"{"a":"é"}"#, #"{"a":"\u00e9\n"}"#, #"["\#(String(repeating: "中文 ", count: 90))"]"#,
    ] {
      #expect(outcome(Self.message(data)) == .written, "\(data)")
    }
    #expect(outcome(Self.message("\"é\"")) == .other)
    #expect(outcome(Self.message("no JSON")) == .unusual)
    rig.printMember()
    #expect(outcome(Self.message("1")) == .other)
    rig.check(Self.message("0"))
    rig.beginBurst()
    rig.check(Self.message("0", event: "other"))
    #expect(outcome(Self.message("1")) == .other)
  }

  @Test func `a filtered event does not tell the new day`() {
    let rig = Rig(width: 60, filter: ["tick"])
    #expect(rig.check(Self.message("1"))?.hasSuffix("news  tick  1\n") == true)
    rig.beginBurst(after: 86_400)
    #expect(rig.check(Self.message("1", event: "other"))?.isEmpty == true)
    let lines = rig.check(Self.message("2"))?.split(separator: "\n") ?? []
    #expect(lines.count == 2 && lines[0].hasPrefix("──── 2027-"), "\(lines)")
  }

  @Test func `a long channel stands in full once, also on the fast path`() {
    let rig = Rig(width: 40)
    let channel = "private-orders.of.all.the.world.1"
    let counts = (0..<3).map { _ in
      rig.check(Self.message("1", channel: channel))?.split(separator: "\n").count
    }
    #expect(counts == [2, 1, 1])
  }
}

import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

struct `The page of -o pretty` {
  /// The lines of one event after another.
  private static func lines(
    _ events: [PrettyEvent], width: Int = 80, palette: EventLinePalette? = nil,
    isUnicode: Bool = true
  ) -> [String] {
    written(width: width, palette: palette, isUnicode: isUnicode) { text in
      for event in events { text.write(event) }
    }
  }

  private static func written(
    width: Int, palette: EventLinePalette? = nil, isUnicode: Bool, _ write: (PrettyText) -> Void
  ) -> [String] {
    let output = ByteBuffer()
    let text = PrettyText(
      output: output, style: EventLineStyle(palette: palette), isUnicode: isUnicode)
    text.begin(at: "2026-11-21T12:04:05.123+01:00", columns: width)
    write(text)
    return output.view.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      .map(String.init)
  }

  private static func event(
    _ channel: String?, _ name: String, _ data: JSONValue, from: String? = nil
  ) -> PrettyEvent {
    PrettyEvent(channel: channel, name: name, sender: from, body: .data(data))
  }

  private static func event(_ channel: String, _ data: JSONValue) -> PrettyEvent {
    event(channel, "tick", data)
  }

  private static func tick(_ data: JSONValue) -> PrettyEvent { event("news", "tick", data) }

  private static func rule(
    _ width: Int, isUnicode: Bool = true, _ consequence: String = "events sent meanwhile are lost"
  ) -> [String] {
    written(width: width, isUnicode: isUnicode) {
      $0.write(gap: "4.2 s without a connection", consequence: consequence)
    }
  }

  // MARK: Columns

  @Test func `time, channel, event and data stand in one line`() {
    #expect(Self.lines([Self.tick(["id": 1])]) == [#"12:04:05.123  news  tick  {"id":1}"#])
  }

  @Test func `columns are as wide as what they have held, so that lines below each other agree`() {
    let lines = Self.lines([
      Self.event("private-orders", "order.created", 1), Self.event("news", "tick", 2),
      Self.event(nil, "tick", 3),
    ])
    #expect(
      lines == [
        "12:04:05.123  private-orders  order.created  1",
        "12:04:05.123  news            tick           2",
        "12:04:05.123                  tick           3",
      ])
  }

  @Test func `a stream has no column of channels`() {
    #expect(Self.lines([Self.event(nil, "message", 3)]) == ["12:04:05.123  message  3"])
  }

  @Test func `a member who sends is named`() {
    #expect(
      Self.lines([Self.event("presence-a", "client-x", ["on": true], from: "7")]) == [
        #"12:04:05.123  presence-a  client-x  from 7  {"on":true}"#
      ])
  }

  @Test func `forty columns have seconds, and data that does not fit stands below`() {
    let lines = Self.lines(
      [Self.tick(["id": 1, "text": "0123456789"]), Self.event("a", "b", ["id": 1])], width: 40)
    #expect(
      lines == [
        "12:04:05  news  tick", #"  {"id":1,"text":"0123456789"}"#,
        #"12:04:05  a     b     {"id":1}"#,
      ])
  }

  @Test func `a long channel is cut in its middle and stands in full above its first line`() {
    let long = "private-encrypted-orders.eu.1234567"
    let events = [Self.event(long, 1), Self.event("news", 2), Self.event(long, 3)]
    #expect(
      Self.lines(events, width: 40) == [
        "  private-encrypted-orders.eu.1234567:", "12:04:05  private…234567  tick  1",
        "12:04:05  news            tick  2", "12:04:05  private…234567  tick  3",
      ])
    #expect(
      Self.lines([events[0]], width: 40, isUnicode: false)[1] == "12:04:05  privat..234567  tick  1"
    )
  }

  @Test func `a name that is told again after many others stands in full again`() {
    let names = (0...16).map { "private-encrypted-orders.\($0)" }
    let events = names.map { Self.event($0, 1) }
    #expect(Self.lines(events + [events[16]], width: 40).count == 35)
    #expect(Self.lines(events + [events[0]], width: 40).count == 36)
  }

  @Test func `a long event is folded, not cut`() {
    let name = #"App\Events\Orders\OrderShippedToCustomer"#
    #expect(
      Self.lines([Self.event("news", name, 1)], width: 40) == [
        "12:04:05  news", #"  App\Events\Orders\OrderShippedToCustom"#, "  er  1",
      ])
  }

  // MARK: Data

  @Test func `data that fits a line of its own stays one line, longer data is indented`() {
    let short: JSONValue = ["a": .string(String(repeating: "x", count: 70))]
    #expect(Self.lines([Self.tick(short)])[1] == "  " + JSONWriter.text(short))
    let long: JSONValue = [
      "id": 1, "items": [["sku": "a", "n": 1], ["sku": "b", "n": 2]],
      "note": .string(String(repeating: "x", count: 60)), "none": [], "nothing": [:],
    ]
    #expect(
      Self.lines([Self.tick(long)]) == [
        "12:04:05.123  news  tick", "  {", #"    "id": 1,"#,
        #"    "items": [{"sku":"a","n":1},{"sku":"b","n":2}],"#,
        #"    "note": "\#(String(repeating: "x", count: 60))","#, #"    "none": [],"#,
        #"    "nothing": {}"#, "  }",
      ])
  }

  @Test func `text stands without its quotes, and each of its lines is one`() {
    #expect(Self.lines([Self.tick("say \"hi\"")])[0].hasSuffix(#"tick  say "hi""#))
    #expect(
      Self.lines([Self.tick("one\n\n two")]) == ["12:04:05.123  news  tick", "  one", "", "   two"])
    #expect(Self.lines([Self.tick("end\n")])[0].hasSuffix(#"tick  end\n"#))
    #expect(Self.lines([Self.tick("")]) == ["12:04:05.123  news  tick"])
  }

  @Test func `long text is folded at blanks`() {
    let lines = Self.lines([Self.tick("a quick brown fox jumps over the lazy dog")], width: 24)
    #expect(
      lines == ["12:04:05  news  tick", "  a quick brown fox ", "  jumps over the lazy ", "  dog"])
  }

  @Test(arguments: [20, 21, 24, 40, 59, 60, 80, 200])
  func `no line is wider than the page, and nothing of the data is lost`(width: Int) {
    let text = "日本語 und ein langer Text, " + String(repeating: "e\u{301}👍x", count: 60)
    let events = [
      Self.event(String(repeating: "channel", count: 9), text, .string(text)),
      Self.event(
        "a", "b", ["text": .string(text), "deep": [[[[[[[[[[[[[[[[[[1, 2]]]]]]]]]]]]]]]]]]]),
      Self.event("presence-a", "client-x", .number(String(repeating: "1", count: 300)), from: text),
    ]
    for event in events {
      let lines = Self.lines([event], width: width)
      for line in lines { #expect(TextWidth.columns(line) <= width, "\(line)") }
      guard case .data(let data) = event.body else { continue }
      let wanted = data.text ?? JSONWriter.text(data)
      let shown = lines.joined().filter { !$0.isWhitespace }
      #expect(shown.hasSuffix(wanted.filter { !$0.isWhitespace }), "\(lines)")
    }
  }

  @Test func `any data stays within the page, and all of it is there`() {
    var random = SeededGenerator(seed: 13)
    for width in [20, 33, 80] {
      for _ in 0..<400 {
        let data = RandomJSON.value(depth: 5, &random)
        let lines = Self.lines([Self.event("a", "b", data)], width: width)
        for line in lines { #expect(TextWidth.columns(line) <= width, "\(line.debugDescription)") }
        var wanted = PageWriter.json(data)
        if case .string(let text) = data {
          wanted = text.split(separator: "\n").map { Diagnostics.escaped(String($0)) }.joined()
        }
        let shown = String(lines.joined().filter { $0 != " " })
        // A line end as the text's last character is at its end.
        let isThere = [wanted, wanted + #"\n"#].contains {
          shown.hasSuffix(String($0.filter { $0 != " " }))
        }
        #expect(isThere, "\(lines) \(wanted)")
      }
    }
  }

  @Test func `a new day is a rule across the page`() {
    let output = ByteBuffer()
    let text = PrettyText(output: output, style: EventLineStyle(), isUnicode: false)
    let days: [Int64] = [20_000, 20_000, 20_001]
    for day in days {
      let time = WallTime(millisecondsSince1970: (day * 24 + 12) * 3_600_000)
      text.begin(at: time.localText, columns: 40)
      withView(Array(#"{"event":"e","data":1}"#.utf8) + [0x0A]) {
        text.write(EventLine($0), isNews: false, members: nil)
      }
    }
    let lines = output.view.text.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(lines[2] == "---- 2024-10-05 ------------------------")
  }

  // MARK: Sentences and rules

  private static func sentence(_ event: String, _ data: JSONValue, _ members: Int? = nil) -> String?
  {
    PrettySentence(event, data, members: members).map { ($0.subject ?? "") + $0.rest }
  }

  @Test(
    arguments: #"""
      pusher:member_added {"user_id":"7","user_info":{"name":"maria","role":"x"}}
        => maria (7) joined (3 members)
      eventflit:member_removed {"user_id":"7"} => 7 left
      pusher:subscription_succeeded {"presence":{"count":2}} => subscribed (2 members)
      pusher:subscription_count {"subscription_count":2} => 2 subscriptions
      pusher:cache_miss null => no event is cached
      pusher:online {"user_ids":["7","8"]} => 7, 8 came online
      pusher:connection_established {"socket_id":"1.2","host":"h"} => connected to h, socket 1.2
      pusher-cli:connected {"url":"http://h/","last_event_id":"9"}
        => connected to http://h/, continuing after event 9
      pusher-cli:disconnected {"reason":"reset","retry_in":1.5}
        => no connection: reset; retrying in 1.5 s
      pusher:subscription_error {"error":"no","status":403}
        => subscription refused: no (status 403)
      pusher:error {"code":4200,"message":"m"} => the server reports error 4200: m
      pusher-cli:exit {"status":0,"reason":"count","events":2}
        => ended after 2 events: count, status 0
      order.created {} => data
      foreign:pusher-cli:exit {} => data
      """# as Table)
  func `presence and the connection are told in sentences`(row: Table.Row) throws {
    let words = row.input.split(separator: " ", maxSplits: 1).map(String.init)
    let members = words[0] == "pusher:member_added" ? 3 : nil
    row.expect(try Self.sentence(words[0], JSONParser.parse(words[1]), members) ?? "data")
  }

  @Test func `a member's name is told only as a text`() {
    let member: JSONValue = ["user_id": 7, "user_info": ["name": 8]]
    #expect(Self.sentence("pusher:member_added", member) == "7 joined")
  }

  @Test func `a sentence stands after the channel, and folds below itself`() {
    let sentence = PrettySentence(subject: "maria", rest: " joined the others who are there")
    let event = PrettyEvent(channel: "presence-a", body: .sentence(sentence))
    #expect(
      Self.lines([event]) == ["12:04:05.123  presence-a  maria joined the others who are there"])
    #expect(
      Self.lines([event], width: 60) == [
        "12:04:05.123  presence-a  maria joined the others who are ",
        "                          there",
      ])
    #expect(
      Self.lines([event], width: 40)
        == ["12:04:05  presence-a", "  maria joined the others who are there"])
  }

  @Test func `a gap is a rule across the page with its length`() {
    #expect(
      Self.rule(80) == [
        "──── 4.2 s without a connection: events sent meanwhile are lost "
          + String(repeating: "─", count: 16)
      ])
    #expect(
      Self.rule(40) == [
        "──── 4.2 s without a connection ────────", "──── events sent meanwhile are lost ────",
      ])
    #expect(Self.rule(80, isUnicode: false)[0].hasPrefix("---- 4.2 s without a connection: "))
    #expect(
      Self.rule(24, "gone") == ["4.2 s without a ", "  connection", "──── gone ──────────────"])
  }

  @Test func `colours stand around the parts, and a channel keeps its own`() {
    let palette = EventLinePalette.standard
    let lines = Self.lines(["a", "b", "a"].map { Self.event($0, 1) }, palette: palette)
    #expect(lines[0] == lines[2] && lines[0] != lines[1])
    let colour = palette.colour(of: "a".utf8) ?? ""
    #expect(
      lines[0] == "\u{1B}[2m12:04:05.123\u{1B}[0m  \(colour)a\u{1B}[0m  \u{1B}[1mtick\u{1B}[0m  1")
  }

  // MARK: Safety and width

  @Test func `nothing that an event holds drives the terminal`() {
    let hostile = "a\u{1B}[2J\u{9B}31m\u{7F}\r\u{202E}\u{2028}\tz"
    let data: [JSONValue] = [
      .string(hostile), .object([.init(hostile, .string(hostile))]),
      .string(String(repeating: hostile, count: 40)),
      .array([.string(String(repeating: hostile, count: 40))]),
    ]
    for data in data {
      for line in Self.lines([Self.event(hostile, hostile, data, from: hostile)], width: 40) {
        let isSafe = line.unicodeScalars.allSatisfy { scalar in
          !scalar.properties.isDefaultIgnorableCodePoint
            && scalar.properties.generalCategory != .control
            && scalar.properties.generalCategory != .lineSeparator
        }
        #expect(isSafe, "\(line.debugDescription)")
      }
    }
    let sentence = PrettySentence(
      "pusher:member_added", ["user_id": .string(hostile)], members: nil)
    let event = PrettyEvent(
      channel: "presence-a", body: .sentence(sentence ?? .init(rest: hostile)))
    #expect(Self.lines([event])[0].unicodeScalars.allSatisfy { $0.value >= 0x20 })
  }

  @Test(arguments: [
    ("abc", 3), ("日本", 4), ("한국", 4), ("ｱ", 1), ("Ａ", 2), ("e\u{301}", 1), ("👍", 2),
    ("👨\u{200D}👩", 4), ("🇩🇪", 2), ("❤\u{FE0F}", 1), ("\u{1100}\u{1161}", 2), ("ü", 1), ("─", 1),
  ])
  func `wide characters take two columns and marks none`(text: String, columns: Int) {
    #expect(TextWidth.columns(text) == columns)
  }

  @Test func `wide characters keep the columns`() {
    let lines = Self.lines([Self.event("abcde", "xy", 2), Self.event("日本", "e\u{301}", 1)])
    #expect(lines == ["12:04:05.123  abcde  xy  2", "12:04:05.123  日本   e\u{301}   1"])
  }
}

/// `-o pretty` over several events: effects of an earlier event on later ones.
struct `Events of -o pretty, one after the other` {
  private final class Surroundings {
    var width = 80
    var time = WallTime(millisecondsSince1970: 1_800_000_000_000)
  }

  private final class Rig {
    private let around = Surroundings()
    private let output = ByteBuffer()
    private let printer: Printer

    init(width: Int, filter: [String] = []) {
      around.width = width
      var settings = PrintSettings(
        includedEvents: filter, excludedEvents: [],
        form: EventForm(output: .pretty, color: .never), bufferSize: 16 << 20)
      settings.form.page.isUnicode = true
      printer = Printer(
        settings: settings, service: .pusher, output: output, isTerminal: true,
        columns: { [around] in around.width }, wallTime: { [around] in around.time })
    }

    func beginBurst(after seconds: Int, width: Int? = nil) {
      around.time.millisecondsSince1970 += Int64(seconds) * 1000
      around.width = width ?? around.width
      printer.endBurst()
    }

    func lines(_ data: String, event: String = "tick", channel: String = "news") throws -> [String]
    {
      output.removeAll()
      let message = #"{"event":"\#(event)","channel":"\#(channel)","data":\#(data)}"#
      try withView(Array(message.utf8)) { view in
        if printer.take(message: view) == .declined { printer.print(try Envelope(view)) }
      }
      return output.view.text.split(separator: "\n").map(String.init)
    }
  }

  @Test func `a filtered event does not tell the new day`() throws {
    let rig = Rig(width: 60, filter: ["tick"])
    #expect(try rig.lines("1").last?.hasSuffix("news  tick  1") == true)
    rig.beginBurst(after: 86_400)
    #expect(try rig.lines("1", event: "other").isEmpty)
    let lines = try rig.lines("2")
    #expect(lines.count == 2 && lines[0].hasPrefix("──── 2027-"), "\(lines)")
  }

  @Test func `a long channel stands in full once`() throws {
    let rig = Rig(width: 40)
    let channel = "private-orders.of.all.the.world.1"
    let counts = try (0..<3).map { _ in try rig.lines("1", channel: channel).count }
    #expect(counts == [2, 1, 1])
  }

  @Test func `data that is JSON in a string is taken apart, other text is not`() throws {
    let rig = Rig(width: 80)
    #expect(try rig.lines(#""{\"a\":[1, 2]}""#).last?.hasSuffix(#"tick  {"a":[1,2]}"#) == true)
    #expect(try rig.lines(#""{\"a\":[1, 2""#).last?.hasSuffix(#"tick  {"a":[1, 2"#) == true)
  }

  @Test func `the next burst takes the width that the terminal has then`() throws {
    let rig = Rig(width: 80)
    let data = #"{"id":1,"text":"0123456789"}"#
    #expect(try rig.lines(data).count == 1)
    rig.beginBurst(after: 1, width: 40)
    #expect(try rig.lines(data).count == 2)
  }
}

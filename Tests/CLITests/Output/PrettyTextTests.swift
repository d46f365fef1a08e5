import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

/// `-o pretty` over several events: effects of an earlier event on later ones.
@Suite struct `Events of -o pretty, one after the other` {
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

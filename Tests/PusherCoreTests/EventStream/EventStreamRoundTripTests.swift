import PusherCore
import TestSupport
import Testing

struct `Event streams: random round trips` {
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `events come out as they went in, however they are written and cut`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<60 {
      var stream = RandomEventStream(&random)
      let reading = StreamReading(random.pieces(of: stream.bytes, most: 400))
      if reading.events != stream.events {
        Issue.record("seed \(seed): \(String(decoding: stream.bytes, as: UTF8.self))")
        return
      }
      stream.bytes += Array("data: lost".utf8)
      #expect(StreamReading([stream.bytes]) == reading)
    }
  }
}

/// A stream of random events with random spelling.
private struct RandomEventStream {
  var bytes: [UInt8] = []
  private(set) var events: [StreamEvent] = []
  private let ends: [String]

  init(_ random: inout SeededGenerator) {
    ends = random.pick([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\r\n", "\r"]])
    if random.below(4) == 0 { bytes += [0xEF, 0xBB, 0xBF] }
    var id = ""
    for _ in 0..<random.below(13) {
      var event = StreamEvent(text(&random, lineFeeds: true), id: id)
      var lines = event.data.split(separator: "\n", omittingEmptySubsequences: false).map {
        field("data", String($0), &random)
      }
      if Bool.random(using: &random) {
        id = text(&random)
        event.id = id
        lines.insert(field("id", id, &random), at: 0)
      }
      if Bool.random(using: &random) {
        let type = text(&random)
        event.type = type.isEmpty ? "message" : type
        lines.append(field("event", type, &random))
      }
      if random.below(3) == 0 { lines.insert(":" + text(&random), at: 0) }
      for line in lines { add(line, &random) }
      // A lone CR before an LF would form one line end instead of two.
      add("", &random)
      events.append(event)
    }
  }

  private mutating func add(_ line: String, _ random: inout SeededGenerator) {
    var end = random.pick(ends)
    if line.isEmpty, end == "\n", bytes.last == 0x0D { end = "\r\n" }
    bytes += Array(line.utf8) + Array(end.utf8)
  }

  private func field(_ name: String, _ value: String, _ random: inout SeededGenerator) -> String {
    if value.isEmpty, Bool.random(using: &random) { return name }
    return name + (value.hasPrefix(" ") || Bool.random(using: &random) ? ": " : ":") + value
  }

  private func text(_ random: inout SeededGenerator, lineFeeds: Bool = false) -> String {
    let pool = Array("abc :,{}\"0é中😀".unicodeScalars) + (lineFeeds ? ["\n"] : [])
    let most = random.below(20) == 0 ? 3000 : 20
    return String(String.UnicodeScalarView(random.some(pool, most: most)))
  }
}

/// The HTML standard, section "Server-sent events".
struct `Event streams: what is written is what is read` {
  @Test(arguments: [
    ("{}", "data: {}\n"),
    ("a\nb\r\nc\rd\n\nevent: x", "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: event: x\n"),
  ])
  func `each line of the data is a field, whatever ends it`(data: String, fields: String) {
    let output = ByteBuffer()
    EventStreamWriter.write(event: "entry", id: "7", data: data, to: output)
    EventStreamWriter.write(event: "e", data: data, to: output)
    #expect(output.view.text == "id: 7\nevent: entry\n\(fields)\nevent: e\n\(fields)\n")
  }

  @Test func `a comment is a line that readers drop`() {
    let output = ByteBuffer()
    EventStreamWriter.writeComment(to: output)
    #expect(output.view.text == ":\n\n")
  }
}

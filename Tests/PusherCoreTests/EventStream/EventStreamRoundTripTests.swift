import PusherCore
import TestSupport
import Testing

@Suite("Event streams: random round trips")
struct EventStreamRoundTripTests {
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `events come out as they went in, however they are written and cut`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<60 {
      var stream = RandomEventStream(&random)
      var pieces: [[UInt8]] = []
      var rest = stream.bytes[...]
      while !rest.isEmpty {
        let count = Int.random(in: 1...(Bool.random(using: &random) ? 4 : 400), using: &random)
        pieces.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      let reading = StreamReading(pieces)
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
struct RandomEventStream {
  var bytes: [UInt8] = []
  private(set) var events: [StreamEvent] = []
  private let ends: [String]

  init(_ random: inout SeededGenerator) {
    let all = [["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\r\n", "\r"]]
    ends = all[Int.random(in: 0..<all.count, using: &random)]
    if Int.random(in: 0..<4, using: &random) == 0 { bytes += [0xEF, 0xBB, 0xBF] }
    var id = ""
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      var event = StreamEvent(data: text(&random, lineFeeds: true), id: id)
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
      if Int.random(in: 0..<3, using: &random) == 0 { lines.insert(":" + text(&random), at: 0) }
      for line in lines { add(line, &random) }
      // A lone CR before an LF would form one line end instead of two.
      add("", &random)
      events.append(event)
    }
  }

  private mutating func add(_ line: String, _ random: inout SeededGenerator) {
    var end = ends[Int.random(in: 0..<ends.count, using: &random)]
    if line.isEmpty, end == "\n", bytes.last == 0x0D { end = "\r\n" }
    bytes += Array(line.utf8) + Array(end.utf8)
  }

  private func field(_ name: String, _ value: String, _ random: inout SeededGenerator) -> String {
    if value.isEmpty, Bool.random(using: &random) { return name }
    return name + (value.hasPrefix(" ") || Bool.random(using: &random) ? ": " : ":") + value
  }

  private func text(_ random: inout SeededGenerator, lineFeeds: Bool = false) -> String {
    let pool = Array("abc :,{}\"0é中😀".unicodeScalars) + (lineFeeds ? ["\n"] : [])
    var text = String.UnicodeScalarView()
    let most = Int.random(in: 0..<20, using: &random) == 0 ? 3000 : 20
    for _ in 0..<Int.random(in: 0...most, using: &random) {
      text.append(pool[Int.random(in: 0..<pool.count, using: &random)])
    }
    return String(text)
  }
}

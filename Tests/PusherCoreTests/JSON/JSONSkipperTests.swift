import TestSupport
import Testing

@testable import PusherCore

@Suite struct SkippedJSONTests {
  private func skip(_ text: String) throws(JSONError) -> Range<Int> {
    let input = buffer(text)
    var cursor = JSONCursor(input.view)
    cursor.skipWhitespace()
    let range = try cursor.skipValue()
    try cursor.requireEnd()
    return range
  }

  @Test(arguments: JSONSamples.valid)
  func `what the grammar allows is stepped over`(text: String) throws {
    let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
    let first = text.utf8.prefix(while: isBlank).count
    let last = text.utf8.count - text.utf8.reversed().prefix(while: isBlank).count
    #expect(try skip(text) == first..<last)
  }

  @Test(arguments: JSONSamples.invalid)
  func `what the grammar does not allow is refused`(text: String) {
    #expect(throws: JSONError.self) { try skip(text) }
  }

  @Test(arguments: [false, true])
  func `10,000 levels are stepped over, more are refused, and no stack is spent on them`(
    objects: Bool
  ) throws {
    for inner in ["", "1"] {
      let deep = JSONSamples.nested(10_000, objects: objects, around: inner)
      #expect(try skip(deep) == 0..<deep.utf8.count)
      #expect(throws: JSONError.tooDeep(limit: 10_000)) {
        try skip(JSONSamples.nested(10_001, objects: objects, around: inner))
      }
    }
    #expect(throws: JSONError.tooDeep(limit: 10_000)) {
      try skip(String(repeating: objects ? #"{"a":"# : "[", count: 1_000_000))
    }
  }

  @Test func `random values are stepped over to their last byte`() throws {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<500 {
      let text = JSONEncoding.all[Int.random(in: 0..<JSONEncoding.all.count, using: &random)]
        .text(RandomJSON.value(depth: 6, &random))
      #expect(try skip(text) == 0..<text.utf8.count)
    }
  }

  @Test func `a string ends at its own quote at every length, whatever stands behind the view`()
    throws
  {
    let guarded = GuardedBytes(room: 512)
    for length in 0...140 {
      let string = [0x22] + [UInt8](repeating: 0x61, count: length) + [0x22]
      let view = guarded.view(string, beforeEnd: 0)
      var cursor = JSONCursor(view)
      #expect(try cursor.skipString() == 1..<(length + 1))
      #expect(cursor.atEnd)
      var cut = JSONCursor(view[0..<(length + 1)])
      #expect(throws: JSONError.endsEarly) { try cut.skipString() }
      #expect(JSONCursor(view[1..<max(1, length)]).plainRun() == max(1, length) - 1)
    }
  }

  @Test func `a control is found at every place of a string`() {
    for place in 0..<100 {
      var string = [0x22] + [UInt8](repeating: 0x61, count: 100) + [0x22]
      string[place + 1] = 0x1F
      withView(string) { view in
        var cursor = JSONCursor(view)
        #expect(throws: JSONError.unexpected(offset: place + 1)) { try cursor.skipString() }
      }
    }
  }
}

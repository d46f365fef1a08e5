import PusherCore
import TestSupport
import Testing

/// What the fast path of pages promises for any bytes; that it lays out as the general one does is held beside that one.
@Suite struct JSONPageTests {
  private let output = ByteBuffer()
  private let guarded = GuardedBytes(room: 1 << 14)

  /// Lays bytes out between guards, and expects what must be true whatever they are; answers how often they were.
  @discardableResult
  private func check(_ json: [UInt8], width: Int, isText: Bool = false) -> Int {
    guard !json.isEmpty else { return 0 }
    var written = 0
    for isPlain in [true, false] {
      let view =
        isPlain
        ? guarded.view(json, beforeEnd: 0) : guarded.view(json, afterStart: json.count & 15)
      output.removeAll()
      output.append("before")
      let columns = JSONPage.columns(view) ?? json.count
      guard
        JSONPage.append(
          view, columns: columns, to: output, width: width, indent: 2, isPlain: isPlain)
      else {
        #expect(output.view.text == "before")
        continue
      }
      written += 1
      let lines = output.array.split(separator: 0x0A, omittingEmptySubsequences: false)
      // What was added is blanks and line ends.
      let shown = lines.dropFirst().joined().filter { $0 != 0x20 }
      #expect(shown == json.filter { $0 != 0x20 }, "\(output.view.text)")
      guard isText else { continue }
      let isWithin = lines.allSatisfy {
        TextWidth.columns(String(decoding: $0, as: UTF8.self)) <= width
      }
      #expect(isWithin, "\(output.view.text)")
    }
    return written
  }

  @Test func `all of the JSON is there, within the page`() {
    var random = SeededGenerator(seed: 3)
    var written = 0
    for round in 0..<4000 {
      let value = RandomJSON.value(depth: round % 7, &random)
      output.removeAll()
      JSONWriter.write(value, into: output, forTerminal: true)
      written += check(output.array, width: [20, 33, 80][round % 3], isText: true)
    }
    #expect(written > 5000)
  }

  @Test func `bytes that are no JSON stay between the guards`() {
    var random = SeededGenerator(seed: 4)
    let alphabet = Array(#"{}[]"",:1 ax\"#.utf8) + [0x00, 0x7F, 0xC3, 0xA9, 0xF0]
    for round in 0..<20_000 {
      var bytes: [UInt8] = round & 1 == 0 ? [0x5B] : [0x7B]
      for _ in 0..<random.below(round % 90 + 1) {
        bytes.append(alphabet[random.below(alphabet.count)])
      }
      check(bytes, width: 20 + round % 20)
    }
  }

  @Test func `JSON that ends early or late stays between the guards`() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<200 {
      let json = Array(JSONWriter.text(RandomJSON.value(depth: 5, &random)).utf8)
      for count in 1..<max(2, json.count) {
        check(Array(json[0..<min(count, json.count)]), width: 20 + count % 40)
      }
      check(json + json, width: 30)
    }
  }

  @Test func `only printing ASCII without escapes is plain`() {
    for byte in UInt8.min...UInt8.max {
      for place in [0, 1, 14, 15, 16, 17, 40] {
        var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 41)
        bytes[place] = byte
        let isPlain = (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\\")
        #expect(JSONPage.isPlain(guarded.view(bytes, beforeEnd: 0)) == isPlain)
        // What stands behind does not count.
        #expect(JSONPage.isPlain(guarded.view(bytes, beforeEnd: 0)[0..<place]))
      }
    }
  }
}

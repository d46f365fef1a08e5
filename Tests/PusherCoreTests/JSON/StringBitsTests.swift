import TestSupport
import Testing

@testable import PusherCore

@Suite("Bits of strings") struct StringBitsTests {
  @Test func `escapes and strings go on from block to block`() {
    var random = SeededGenerator(seed: 11)
    for round in 0..<2000 {
      let pool = round & 1 == 0 ? Array(#""\"#.utf8) : Array(#""\abcdefgh"#.utf8)
      let text = (0..<256).map { _ in pool[random.below(pool.count)] }
      var (isEscaped, isInside) = (false, false)
      let expected = text.map { byte in
        let isQuote = byte == UInt8(ascii: "\"") && !isEscaped
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        if isQuote { isInside.toggle() }
        return (isQuote: isQuote, isInside: isInside)
      }
      withView(text) { view in
        var bits = StringBits()
        for block in 0..<4 {
          let quotes = bits.quotes(at: view.base + block * 64)
          let inside = bits.inside(quotes)
          for place in 0..<64 {
            let own = expected[block * 64 + place]
            #expect(quotes >> UInt64(place) & 1 == (own.isQuote ? 1 : 0))
            #expect(inside >> UInt64(place) & 1 == (own.isInside ? 1 : 0))
          }
          bits.pass(quotes)
        }
      }
    }
  }
}

import PusherCore
import Testing

/// RFC 4648 section 8, in lower case.
@Suite struct HexTests {
  @Test func `each byte becomes two lower-case digits`() {
    #expect(Hex.encode([]) == "")
    #expect(Hex.encode([0x00, 0x0F, 0x10, 0xAB, 0xFF]) == "000f10abff")
  }

  @Test func `digits of both cases have a value, nothing else has`() {
    for byte in UInt8.min...UInt8.max {
      let character = Character(Unicode.Scalar(byte))
      let expected = character.isASCII ? character.hexDigitValue.map(UInt8.init) : nil
      #expect(Hex.value(of: byte) == expected)
    }
  }
}

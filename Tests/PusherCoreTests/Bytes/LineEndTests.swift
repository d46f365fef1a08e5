import Testing

@testable import PusherCore

/// HTML Living Standard section 9.2.5: a line ends with CR, LF or both.
@Suite struct LineEndTests {
  private func end(_ bytes: [UInt8], from start: Int = 0) -> Int {
    let buffer = ByteBuffer()
    // Bytes behind the view must be ignored.
    buffer.append(bytes + [UInt8](repeating: 0x0A, count: 40))
    buffer.truncate(to: bytes.count)
    return buffer.view.lineEnd(from: start)
  }

  @Test(arguments: [0x0A, 0x0D] as [UInt8])
  func `the first end is found wherever it stands`(byte: UInt8) {
    for count in 0...100 {
      let plain = [UInt8](repeating: UInt8(ascii: "x"), count: count)
      #expect(end(plain) == count)
      for place in 0..<count {
        var bytes = plain
        bytes[place] = byte
        #expect(end(bytes) == place)
        #expect(end(bytes + [0x0A, 0x0D]) == place)
        #expect(end(bytes, from: place) == place)
        #expect(end(bytes, from: place + 1) == count)
      }
    }
  }

  @Test func `no other byte ends a line`() {
    for byte in UInt8.min...UInt8.max where byte != 0x0A && byte != 0x0D {
      for count in [1, 7, 8, 31, 32, 33, 70] {
        #expect(end([UInt8](repeating: byte, count: count)) == count)
        #expect(end([UInt8](repeating: byte, count: count) + [0x0D]) == count)
      }
    }
  }
}

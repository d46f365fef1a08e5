import TestSupport
import Testing

@testable import PusherCore

struct ByteViewTests {
  @Test func `a smaller view holds the bytes of its range, and bytes that are no text show`() {
    withView(Array("hello".utf8)) { view in
      #expect(view[1..<4].text == "ell" && view[1..<4][1] == UInt8(ascii: "l"))
      #expect(view[5..<5].isEmpty && view[0..<5].array == Array("hello".utf8))
    }
    withView([0x61, 0xFF, 0x62]) { #expect($0.text == "a\u{FFFD}b") }
  }

  @Test func `a view is compared with a literal byte by byte`() {
    withView(Array("true".utf8)) { view in
      #expect(view.equals("true") && view[0..<0].equals(""))
      #expect(!view.equals("tru") && !view.equals("true ") && !view.equals("trux"))
      #expect(view.begins(with: "") && view.begins(with: "tr") && view.begins(with: "true"))
      #expect(!view.begins(with: "truer") && !view.begins(with: "x"))
    }
  }

  @Test func `a difference is found at every length and place`() {
    for length in 0...40 {
      let bytes = (0..<length).map { UInt8($0 + 0x30) }
      withView(bytes + [0x21]) { long in
        let view = long[0..<length]
        #expect(view.equals(bytes) && long.begins(with: view))
        #expect(!view.equals(bytes + [0x21]) && !long.equals(bytes))
        for place in 0..<length {
          var other = bytes
          other[place] ^= 0x80
          #expect(!view.equals(other))
          withView(other) { #expect(!long.begins(with: $0)) }
        }
      }
    }
  }

  @Test func `a difference from a long literal is found at every place`() {
    let literal = "private-encrypted-" as StaticString
    let bytes = Array("\(literal)".utf8)
    withView(bytes + [0x61]) { #expect($0.begins(with: literal) && !$0.equals(literal)) }
    for place in bytes.indices {
      var other = bytes
      other[place] ^= 0x80
      withView(other) { #expect(!$0.begins(with: literal) && !$0.equals(literal)) }
    }
  }

  @Test func `printable ASCII is found out at every length, place and byte`() {
    for length in 0...20 {
      let plain = [UInt8](repeating: UInt8(ascii: "a"), count: length)
      withView(plain) { #expect($0.isPrintableASCII) }
      for place in 0..<length {
        for byte in [0x00, 0x1F, 0x20, 0x7E, 0x7F, 0x80, 0xFF] as [UInt8] {
          var bytes = plain
          bytes[place] = byte
          withView(bytes) { #expect($0.isPrintableASCII == (0x20...0x7E).contains(byte)) }
        }
      }
      // Bytes behind the view are ignored.
      withView(plain + [0x00, 0x7F, 0xFF]) { #expect($0[0..<length].isPrintableASCII) }
    }
  }

  @Test func `a byte is found anywhere in a view, and not behind it`() {
    withView(Array(#"abc\def"#.utf8)) { view in
      #expect(view.holds(0x5C) && view[3..<4].holds(0x5C))
      #expect(!view[0..<3].holds(0x5C) && !view[4..<7].holds(0x5C) && !view[0..<0].holds(0x61))
    }
  }
}

/// HTML Living Standard section 9.2.5: a line ends with CR, LF or both.
struct LineEndTests {
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
        #expect(end(bytes) == place && end(bytes + [0x0A, 0x0D]) == place)
        #expect(end(bytes, from: place) == place && end(bytes, from: place + 1) == count)
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

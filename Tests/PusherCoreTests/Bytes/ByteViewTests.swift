import PusherCore
import TestSupport
import Testing

@Suite struct ByteViewTests {
  @Test func `a smaller view holds the bytes of its range`() {
    withView(Array("hello".utf8)) { view in
      #expect(view[1..<4].text == "ell")
      #expect(view[1..<4][1] == UInt8(ascii: "l"))
      #expect(view[5..<5].isEmpty)
      #expect(view[0..<5].array == Array("hello".utf8))
    }
  }

  @Test func `a view is compared with a literal byte by byte`() {
    withView(Array("true".utf8)) { view in
      #expect(view.equals("true"))
      #expect(!view.equals("tru"))
      #expect(!view.equals("true "))
      #expect(!view.equals("trux"))
      #expect(view.begins(with: "") && view.begins(with: "tr") && view.begins(with: "true"))
      #expect(!view.begins(with: "truer") && !view.begins(with: "x"))
      #expect(view[0..<0].equals(""))
    }
  }

  @Test func `bytes that are no text show as replacement characters`() {
    withView([0x61, 0xFF, 0x62]) { #expect($0.text == "a\u{FFFD}b") }
  }
}

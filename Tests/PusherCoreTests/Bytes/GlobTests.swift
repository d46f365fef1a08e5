import PusherCore
import TestSupport
import Testing

@Suite struct GlobTests {
  @Test(
    arguments: [
      ("", [""], ["a"]),
      ("order", ["order"], ["orders", "Order", "", "orde"]),
      ("*", ["", "a", "order.created", "😀"], []),
      ("order.*", ["order.", "order.created"], ["order", "xorder.a"]),
      ("*.created", ["order.created", ".created"], ["created", "order.created2"]),
      ("a*b*c", ["abc", "axbxc", "abbcc", "abcbc"], ["ab", "acb", "abcd"]),
      ("**a**", ["a", "bab"], ["", "b"]),
      ("?", ["a", "é", "😀"], ["", "ab"]),
      ("a?c", ["abc", "a?c"], ["ac", "abbc"]),
      ("[abc]", ["a", "b", "c"], ["d", "", "ab", "[abc]"]),
      ("[a-c]x", ["ax", "bx", "cx"], ["dx", "-x", "x"]),
      ("[c-a]", ["a", "b", "c"], ["d"]),
      ("[!a-c]", ["d", "-", "!"], ["a", "b", "c", ""]),
      ("[^a]", ["b", "^"], ["a"]),
      ("[]]", ["]"], ["[", "[]]"]),
      ("[!]]", ["a"], ["]"]),
      ("[a-]", ["a", "-"], ["b"]),
      ("[-a]", ["a", "-"], ["b"]),
      ("[é-ü]", ["é", "ö"], ["e"]),
      ("[a-cx-z0]", ["b", "y", "0"], ["d", "1"]),
      ("[abc", ["[abc"], ["a", "b"]),
      ("[", ["["], [""]),
      ("[]", ["[]"], ["", "]"]),
      ("[!]", ["[!]"], ["a"]),
      ("a]", ["a]"], ["a"]),
      ("[a][b[", ["a[b["], ["ab[", "[a][b["]),
      ("[[[]", ["["], ["[[", "]"]),
      (#"\*"#, [#"\"#, #"\a"#], ["*", "a", ""]),
      (#"\?"#, [#"\a"#], ["?", #"\"#]),
      (#"\\"#, [#"\"#], [#"\\"#, ""]),
      (#"\\\\"#, [#"\\"#], [#"\"#]),
      (#"a\"#, [#"a\"#], ["a"]),
      (#"a\b"#, [#"a\b"#], ["ab"]),
      (#"[\*]"#, [#"\"#, "*"], ["a"]),
      ("[*]", ["*"], ["a", ""]),
      ("pusher:*", ["pusher:member_added"], ["client-a"]),
    ] as [(String, [String], [String])])
  func `a pattern fits the whole of a name`(
    pattern: String, fitting: [String], others: [String]
  ) {
    let glob = Glob(pattern)
    for (names, fits) in [(fitting, true), (others, false)] {
      for name in names {
        #expect(glob.matches(name) == fits, "\(pattern), \(name)")
        #expect(withView(Array(name.utf8)) { glob.matches($0) } == fits, "\(pattern), \(name)")
      }
    }
  }

  /// 64 parts share one word, so the places in a long pattern move from word to word.
  @Test(arguments: [1, 62, 63, 64, 65, 127, 128, 129, 300])
  func `a pattern may have any number of parts`(count: Int) {
    let text = { (piece: String, count: Int) in String(repeating: piece, count: count) }
    for (part, character) in [("a", "a"), ("?", "\u{E9}"), ("[!b]", "a"), ("[\u{E9}]", "\u{E9}")] {
      let pattern = text(part, count)
      #expect(Glob(pattern).matches(text(character, count)), "\(part)")
      #expect(!Glob(pattern).matches(text(character, count - 1)), "\(part)")
      #expect(!Glob(pattern).matches(text(character, count + 1)), "\(part)")
      #expect(!Glob(pattern).matches(text(character, count - 1) + "b") || part == "?", "\(part)")
      #expect(Glob("*" + pattern).matches("b" + text(character, count)), "\(part)")
      #expect(Glob(pattern + "*").matches(text(character, count) + "b"), "\(part)")
      #expect(Glob(pattern + "*c").matches(text(character, count) + "bc"), "\(part)")
    }
  }

  /// Work that grows faster than the text times the pattern would take hours.
  @Test(
    .timeLimit(.minutes(1)),
    arguments: [
      ("*" + String(repeating: "a*", count: 500) + "b", "a"),
      (String(repeating: "*?", count: 500) + "b", "\u{E9}"),
      ("*" + String(repeating: "a", count: 1000) + "b", "a"),
      ("*" + String(repeating: "?", count: 1000) + "b", "a"),
      ("*[" + String(repeating: "\u{E9}-\u{EA}", count: 200) + "]b", "\u{E9}"),
      ("*order*paid*eur", "order paid "),
    ])
  func `no text makes a pattern slow`(pattern: String, piece: String) {
    let text = String(repeating: piece, count: (1 << 17) / piece.utf8.count)
    #expect(!Glob(pattern).matches(text))
    #expect(withView(Array(text.utf8)) { !Glob(pattern).matches($0) })
    #expect(Glob(pattern).matches(text + "b") || !pattern.hasSuffix("b"))
  }

  @Test func `bytes that are not UTF-8 are harmless`() {
    let globs = ["*", "?", "*a", "[!a]*", "*\u{E9}?", "[\u{E9}-\u{10FFFF}]*"].map(Glob.init)
    let choice: [UInt8] = [0x61, 0x80, 0xC3, 0xA9, 0xE2, 0xF0, 0xF7, 0xFF]
    var random = SeededGenerator(seed: 50)
    for _ in 0..<5000 {
      let bytes = (0..<Int.random(in: 0...9, using: &random)).map { _ in
        choice.randomElement(using: &random) ?? 0
      }
      let guarded = GuardedBytes(room: 64)
      let matches = withExtendedLifetime(guarded) {
        globs.map { $0.matches(guarded.view(bytes, beforeEnd: 0)) }
      }
      #expect(matches[0])
    }
  }

  @Test func `random patterns agree with a plain reading of stars and question marks`() {
    func fits(_ pattern: Substring, _ name: Substring) -> Bool {
      guard let first = pattern.first else { return name.isEmpty }
      let rest = pattern.dropFirst()
      if first == "*" {
        return fits(rest, name) || (!name.isEmpty && fits(pattern, name.dropFirst()))
      }
      guard let letter = name.first else { return false }
      return (first == "?" || first == letter) && fits(rest, name.dropFirst())
    }
    var random = SeededGenerator(seed: 6)
    func word(_ letters: String, _ length: Int) -> String {
      String((0..<length).map { _ in letters.randomElement(using: &random) ?? "a" })
    }
    for _ in 0..<2000 {
      let pattern = word("ab*?", Int.random(in: 0...7, using: &random))
      let name = word("ab", Int.random(in: 0...8, using: &random))
      #expect(Glob(pattern).matches(name) == fits(pattern[...], name[...]), "\(pattern) \(name)")
    }
  }
}

import PusherCore
import TestSupport
import Testing

struct GlobTests {
  @Test(
    arguments: [
      ("", [""], ["a"]), ("order", ["order"], ["orders", "Order", "", "orde"]),
      ("*", ["", "a", "order.created", "😀"], []),
      ("order.*", ["order.", "order.created"], ["order", "xorder.a"]),
      ("*.created", ["order.created", ".created"], ["created", "order.created2"]),
      ("a*b*c", ["abc", "axbxc", "abbcc", "abcbc"], ["ab", "acb", "abcd"]),
      ("**a**", ["a", "bab"], ["", "b"]), ("?", ["a", "é", "😀"], ["", "ab"]),
      ("a?c", ["abc", "a?c"], ["ac", "abbc"]),
      ("[abc]", ["a", "b", "c"], ["d", "", "ab", "[abc]"]),
      ("[a-c]x", ["ax", "bx", "cx"], ["dx", "-x", "x"]), ("[c-a]", ["a", "b", "c"], ["d"]),
      ("[!a-c]", ["d", "-", "!"], ["a", "b", "c", ""]), ("[^a]", ["b", "^"], ["a"]),
      ("[]]", ["]"], ["[", "[]]"]), ("[!]]", ["a"], ["]"]), ("[a-]", ["a", "-"], ["b"]),
      ("[-a]", ["a", "-"], ["b"]), ("[é-ü]", ["é", "ö"], ["e"]),
      ("[a-cx-z0]", ["b", "y", "0"], ["d", "1"]), ("[abc", ["[abc"], ["a", "b"]),
      ("[", ["["], [""]), ("[]", ["[]"], ["", "]"]), ("[!]", ["[!]"], ["a"]), ("a]", ["a]"], ["a"]),
      ("[a][b[", ["a[b["], ["ab[", "[a][b["]), ("[[[]", ["["], ["[[", "]"]),
      (#"\*"#, [#"\"#, #"\a"#], ["*", "a", ""]), (#"\?"#, [#"\a"#], ["?", #"\"#]),
      (#"\\"#, [#"\"#], [#"\\"#, ""]), (#"\\\\"#, [#"\\"#], [#"\"#]), (#"a\"#, [#"a\"#], ["a"]),
      (#"a\b"#, [#"a\b"#], ["ab"]), (#"[\*]"#, [#"\"#, "*"], ["a"]), ("[*]", ["*"], ["a", ""]),
      ("pusher:*", ["pusher:member_added"], ["client-a"]),
    ] as [(String, [String], [String])])
  func `a pattern fits the whole of a name`(pattern: String, fitting: [String], others: [String]) {
    let glob = Glob(pattern)
    for name in fitting { #expect(glob.matches(name), "\(pattern) fits \(name)") }
    for name in others { #expect(!glob.matches(name), "\(pattern) does not fit \(name)") }
  }

  private func text(_ scalars: [Unicode.Scalar]) -> String {
    String(String.UnicodeScalarView(scalars))
  }

  private func glob(_ pattern: [Unicode.Scalar]) -> Glob { Glob(text(pattern)) }

  /// Walks back to the last star, as most programs do.
  private func reference(_ pattern: [Unicode.Scalar], _ name: [Unicode.Scalar]) -> Bool {
    var (place, element) = (0, 0)
    var retry: (element: Int, place: Int)?
    while place < name.count {
      if element < pattern.count, pattern[element] == "*" {
        element += 1
        retry = (element, place)
      } else if element < pattern.count, pattern[element] == "?" || pattern[element] == name[place]
      {
        (element, place) = (element + 1, place + 1)
      } else if let last = retry {
        (element, place) = (last.element, last.place + 1)
        retry = (element, place)
      } else {
        return false
      }
    }
    return pattern[element...].allSatisfy { $0 == "*" }
  }

  @Test func `patterns of several machine words, and characters of any length, match alike`() {
    var random = SeededGenerator(seed: 25)
    let letters = Array("aé€😀".unicodeScalars)
    var matched = 0
    for round in 0..<3000 {
      let name = random.some(letters, most: 300)
      var pattern = name
      for _ in 0..<random.below(7) where !pattern.isEmpty {
        let place = random.below(pattern.count)
        switch random.below(4) {
        case 0: pattern[place] = "*"
        case 1: pattern[place] = "?"
        case 2: pattern.removeSubrange(place..<min(pattern.count, place + 70))
        default: pattern.insert("*", at: place)
        }
      }
      let (glob, text) = (glob(pattern), text(name))
      let expected = reference(pattern, name)
      matched += expected ? 1 : 0
      #expect(glob.matches(text) == expected, "round \(round)")
      withView(Array(text.utf8)) { #expect(glob.matches($0) == expected, "round \(round)") }
    }
    #expect((300...2700).contains(matched))
  }

  @Test(arguments: [63, 64, 65, 127, 128, 129])
  func `a pattern ends at any bit of a word`(length: Int) {
    let name = String(repeating: "a", count: length)
    for pattern in [name, name + "*", "*" + name, String(repeating: "?", count: length)] {
      #expect(Glob(pattern).matches(name) && !Glob(pattern).matches(String(name.dropLast())))
    }
    #expect(Glob(name + "*").matches(name + "b") && !Glob(name).matches(name + "b"))
  }

  @Test(.timeLimit(.minutes(10)))
  func `no text makes a long pattern slow`() {
    let longest = String(repeating: "a*", count: 2047) + "b"
    #expect(Glob.problem(in: longest) == nil)
    let problem = "a pattern has at most 4096 bytes; this one has 4097"
    #expect(Glob.problem(in: longest + "ab") == problem)
    let text = String(repeating: "a", count: 100_000)
    #expect(Glob(String(repeating: "*a", count: 50) + "*").matches(text))
    #expect(!Glob(longest).matches(text) && Glob(longest).matches(text + "b"))
    #expect(!Glob("*" + String(repeating: "a", count: 1000) + "b").matches(text))
  }

  @Test func `each byte that is no text counts as one character`() {
    for bytes in [[0x61, 0xFF, 0x62], [0x61, 0xC3, 0x62]] as [[UInt8]] {
      withView(bytes) { view in
        #expect(Glob("a?b").matches(view) && Glob("a\u{FFFD}b").matches(view))
        #expect(!Glob("ab").matches(view))
      }
    }
  }
}

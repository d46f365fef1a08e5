import PusherCore
import Testing

/// Names are compared as bytes, as all servers do; `String` treats names as equal by Unicode
/// equivalence.
struct `Names by their bytes` {
  /// é as one character and as two; ohm sign and omega; kelvin sign and K; two semicolons.
  static let twins: [(String, String)] = [
    ("caf\u{E9}", "cafe\u{301}"), ("\u{2126}", "\u{3A9}"), ("\u{212A}EY", "KEY"),
    ("a\u{37E}b", "a;b"), ("\u{1E0B}\u{323}", "\u{1E0D}\u{307}"),
    (String(repeating: "x", count: 40) + "\u{E9}", String(repeating: "x", count: 40) + "e\u{301}"),
  ]

  @Test(arguments: twins) func `texts equal to String are two names`(left: String, right: String) {
    #expect(left == right)
    #expect(Name(left) != Name(right))
    #expect(!left.isSame(as: right) && !right.isSame(as: left))
    #expect(left.isSame(as: String(decoding: Array(left.utf8), as: UTF8.self)))
    #expect(Name(left) == Name(left) && Name(left).hashValue == Name(left).hashValue)
    #expect(Optional(left).isSame(as: left) && !Optional(left).isSame(as: nil))
    #expect(!Optional(left).isSame(as: right) && Optional<String>.none.isSame(as: nil))
  }

  @Test(arguments: twins) func `a name table keeps equal texts apart`(left: String, right: String) {
    var table = NameTable<Int>()
    table[left] = 1
    table[right] = 2
    #expect(table.count == 2 && table[left] == 1 && table[right] == 2)
    table[left, default: 0] += 10
    #expect(table[left] == 11 && table["other", default: 7] == 7)
    #expect(table.removeValue(of: right) == 2 && table[right] == nil && table[left] == 11)
    table[left] = nil
    #expect(table.isEmpty && table.names.isEmpty)
    var set = NameSet([left])
    #expect(set.contains(left) && !set.contains(right))
    #expect(set.insert(right) && !set.insert(right) && set.count == 2)
    #expect(set.remove(left) && !set.remove(left))
    #expect(set.sorted.map { Array($0.utf8) } == [Array(right.utf8)])
  }

  @Test func `a beginning and an end are bytes too`() {
    // `String` combines the accent with the hyphen, so this text does not have the prefix
    // `private-`.
    let name = "private-\u{301}x"
    #expect(!name.hasPrefix("private-"))
    #expect(name.begins(with: "private-"))
    #expect(
      !"caf\u{E9}s".begins(with: "cafe\u{301}") && "a".begins(with: "") && !"".begins(with: "a"))
    #expect("x.json".ends(with: "json") && !"json".ends(with: "x.json"))
    #expect(!"caf\u{E9}".ends(with: "e\u{301}") && "e\u{301}".ends(with: "\u{301}"))
  }

  @Test func `the kind of a channel is what its bytes begin with`() {
    #expect(ChannelKind(channelName: "private-\u{301}x") == .private)
    #expect(ChannelKind(channelName: "presence-\u{323}") == .presence)
    #expect(ChannelKind(channelName: "private-encrypted-\u{301}") == .encrypted)
    #expect(ChannelName.isCache("cache-\u{301}"))
    #expect(UserChannel.userID(channelName: "#server-to-user-\u{301}").isSame(as: "\u{301}"))
  }

  @Test func `a member of an object is found by its bytes`() {
    let value = JSONValue.object([.init("cafe\u{301}", 1), .init("caf\u{E9}", 2)])
    #expect(value["caf\u{E9}"] == 2 && value["cafe\u{301}"] == 1)
    #expect(JSONValue.object([.init("cafe\u{301}", 1)])["caf\u{E9}"] == nil)
  }
}

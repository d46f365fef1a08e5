import PusherCluster
import PusherCore
import PusherServer
import TestSupport
import Testing

/// Redis's page "RESP protocol specification", version 2.
struct `Redis: the bytes of replies and commands` {
  /// Replies of every kind, and their parsed values.
  private static let replies: [(wire: String, reply: RedisReply)] = [
    ("+OK\r\n", .status("OK")),
    ("+\r\n", .status("")),
    ("-ERR unknown command\r\n", .error("ERR unknown command")),
    (":0\r\n", .integer(0)),
    (":-9223372036854775807\r\n", .integer(-9_223_372_036_854_775_807)),
    (":9223372036854775807\r\n", .integer(.max)),
    ("$0\r\n\r\n", .bytes([])),
    ("$5\r\nhe\r\no\r\n", .bytes(Array("he\r\no".utf8))),
    ("$1\r\n\0\r\n", .bytes([0])),
    ("$-1\r\n", .null),
    ("*-1\r\n", .null),
    ("*0\r\n", .array([])),
    (
      "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n",
      .array([.bytes(Array("message".utf8)), .bytes(Array("c".utf8)), .bytes(Array("hi".utf8))])
    ),
    (
      "*3\r\n*2\r\n:1\r\n*0\r\n-E\r\n*1\r\n$-1\r\n",
      .array([.array([.integer(1), .array([])]), .error("E"), .array([.null])])
    ),
  ]

  private static func read(
    _ pieces: [[UInt8]], _ reader: RedisReader = RedisReader(of: "r")
  ) throws -> [RedisReply] {
    var replies: [RedisReply] = []
    for piece in pieces {
      let input = buffer(piece)
      while !input.isEmpty {
        let count = min(input.count, RedisReader.portion)
        reader.feed(input.view[0..<count])
        input.consume(count)
        while let reply = try reader.next() { replies.append(reply) }
      }
    }
    return replies
  }

  private static func read(
    _ wire: String, _ reader: RedisReader = RedisReader(of: "r")
  ) throws -> [RedisReply] { try read([Array(wire.utf8)], reader) }

  @Test func `each kind of reply is read, whatever place its bytes are cut at`() throws {
    for (wire, reply) in Self.replies {
      let bytes = Array(wire.utf8)
      for cut in 0...bytes.count {
        let replies = try Self.read([Array(bytes[..<cut]), Array(bytes[cut...])])
        #expect(replies == [reply], "\(wire.debugDescription) at \(cut)")
      }
      #expect(try Self.read(bytes.map { [$0] }) == [reply])
    }
  }

  @Test func `replies in a row come in their order`() throws {
    let wire = Array(Self.replies.map(\.wire).joined().utf8)
    #expect(try Self.read([wire]) == Self.replies.map(\.reply))
    var random = SeededGenerator(seed: 16)
    for _ in 0..<50 {
      var pieces: [[UInt8]] = []
      var rest = wire[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...9, using: &random))
        pieces.append(Array(piece))
        rest = rest.dropFirst(piece.count)
      }
      #expect(try Self.read(pieces) == Self.replies.map(\.reply))
    }
  }

  @Test func `a command that is read back has the same words`() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<200 {
      let words = (0..<Int.random(in: 1...6, using: &random)).map { _ in
        (0..<Int.random(in: 0...40, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
      }
      let output = ByteBuffer()
      let command = RedisCommand(words)
      command.write(to: output)
      #expect(output.count <= command.size)
      #expect(try Self.read([output.array]) == [.array(words.map { .bytes($0) })])
    }
  }

  @Test func `a command is an array of bulk strings`() {
    let output = ByteBuffer()
    RedisCommand("SET", "k\r\n", "").write(to: output)
    RedisCommand([[]]).write(to: output)
    #expect(output.view.text == "*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n*1\r\n$0\r\n\r\n")
  }

  @Test(arguments: [
    "!\r\n", "HTTP/1.1 400 Bad Request\r\n", "$x\r\n", "$-2\r\n", "*-2\r\n", "*x\r\n", ":\r\n",
    ":x\r\n", ":1 \r\n", "$99999999999999999999\r\n", "*99999999999999999999\r\n",
  ])
  func `text that is no reply of Redis is a violation`(wire: String) {
    #expect {
      try Self.read(wire)
    } throws: { error in
      if case RedisFailure.violation = error { true } else { false }
    }
  }

  @Test func `an error stays, whatever comes after it`() throws {
    let reader = RedisReader(of: "r")
    #expect(throws: RedisFailure.self) { try Self.read("!", reader) }
    #expect(throws: RedisFailure.self) { try Self.read("+OK\r\n", reader) }
  }

  // MARK: Limits

  /// Limits that a test can reach.
  private static func small() -> RedisReader {
    var limits = RedisReader.Limits()
    (limits.bytes, limits.elements, limits.line) = (1 << 20, 4, 1024)
    return RedisReader(of: "r", limits: limits)
  }

  private static let tooMany = "a reply has more than 4 elements"
  private static let longLine = "a line of a reply is longer than 1 KiB"

  /// The beginning of a reply, the number of digits after it, and the limit.
  @Test(arguments: [
    ("$1048577\r\n", 0, "a reply is larger than 1 MiB"), ("*5\r\n", 0, tooMany),
    ("*2\r\n*3\r\n", 0, tooMany), ("*3\r\n+a\r\n*2\r\n", 0, tooMany),
    ("*2147483647\r\n", 0, tooMany), ("+", 1024, longLine), ("-", 2000, longLine),
    (":", 2000, longLine), ("$", 2000, longLine), ("*", 2000, longLine),
  ])
  func `a reply beyond a limit is refused by length`(wire: String, digits: Int, reason: String) {
    #expect(throws: RedisFailure.limit("r", reason)) {
      try Self.read(wire + String(repeating: "1", count: digits), Self.small())
    }
  }

  @Test func `a bulk string of the limit is read, and strings of an array add up`() throws {
    let length = 1 << 20
    #expect(try Self.read("$\(length)\r\n", Self.small()) == [])
    let text = String(repeating: "a", count: length)
    let replies = try Self.read("$\(length)\r\n\(text)\r\n", Self.small())
    #expect(replies.map(\.text) == [text])
    let half = "$600000\r\n\(text.prefix(600_000))\r\n"
    #expect(throws: RedisFailure.limit("r", "a reply is larger than 1 MiB")) {
      try Self.read("*2\r\n\(half)$600000\r\n", Self.small())
    }
  }

  @Test func `limits count for one reply, not for all together`() throws {
    let wire = String(repeating: "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", count: 100)
    #expect(try Self.read(wire, Self.small()).count == 100)
  }

  @Test func `arrays inside arrays are read to a depth of seven`() throws {
    func nested(_ depth: Int) -> String { String(repeating: "*1\r\n", count: depth) + ":1\r\n" }
    #expect(try Self.read(nested(7)).count == 1)
    #expect(throws: RedisFailure.self) { try Self.read(nested(9)) }
  }
}

struct RedisFieldsTests {
  @Test func `each field is its length in bytes, a colon and its bytes`() {
    #expect(RedisFields.encode(["m", "", "é:"]) == Array("1:m0:3:é:".utf8))
    #expect(RedisFields.encode([]).isEmpty)
  }

  @Test func `random fields are read back as they were written`() {
    var random = SeededGenerator(seed: 21)
    for _ in 0..<500 {
      let fields = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        String(
          repeating: ["a", ":", "9", "é", "😀"].randomElement(using: &random) ?? "",
          count: Int.random(in: 0...120, using: &random))
      }
      #expect(RedisFields.decode(RedisFields.encode(fields)) == fields)
    }
  }

  @Test(arguments: [
    "2:é1:a": true, "1:é1:a": false, "3:a": false, "x:a": false, "1a": false, "-1:a": false,
    "99999999999999999999:a": false, "1:ab": false,
  ])
  func `a length that is no number, goes beyond the end or cuts a character is refused`(
    wire: String, isRight: Bool
  ) {
    #expect((RedisFields.decode(Array(wire.utf8)) != nil) == isRight)
  }
}

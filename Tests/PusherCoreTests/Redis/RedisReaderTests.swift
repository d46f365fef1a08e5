#if Redis
  import PusherCluster
  import PusherCore
  import PusherServer
  import TestSupport
  import Testing

  /// Redis's page "RESP protocol specification", version 2.
  @Suite("Redis: the bytes of replies and commands")
  struct RedisReaderTests {
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
        let buffer = ByteBuffer()
        buffer.append(piece)
        while !buffer.isEmpty {
          let count = min(buffer.count, RedisReader.portion)
          reader.feed(buffer.view[0..<count])
          buffer.consume(count)
          while let reply = try reader.next() { replies.append(reply) }
        }
      }
      return replies
    }

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
      #expect(
        output.view.text == "*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n*1\r\n$0\r\n\r\n")
    }

    @Test(arguments: [
      "!\r\n", "HTTP/1.1 400 Bad Request\r\n", "$x\r\n", "$-2\r\n", "*-2\r\n", "*x\r\n", ":\r\n",
      ":x\r\n", ":1 \r\n", "$99999999999999999999\r\n", "*99999999999999999999\r\n",
    ])
    func `what is no reply is a violation`(wire: String) {
      #expect {
        try Self.read([Array(wire.utf8)])
      } throws: { error in
        if case RedisFailure.violation = error { true } else { false }
      }
    }

    @Test func `an error stays, whatever comes after it`() throws {
      let reader = RedisReader(of: "r")
      #expect(throws: RedisFailure.self) { try Self.read([Array("!".utf8)], reader) }
      #expect(throws: RedisFailure.self) { try Self.read([Array("+OK\r\n".utf8)], reader) }
    }

    // MARK: Limits

    /// Limits that a test can reach.
    private static func small() -> RedisReader {
      var limits = RedisReader.Limits()
      limits.bytes = 1 << 20
      limits.elements = 4
      limits.line = 1024
      return RedisReader(of: "r", limits: limits)
    }

    @Test func `a bulk string is refused by its length alone`() throws {
      let length = 1 << 20
      #expect(try Self.read([Array("$\(length)\r\n".utf8)], Self.small()) == [])
      #expect(throws: RedisFailure.limit("r", "a reply is larger than 1 MiB")) {
        try Self.read([Array("$\(length + 1)\r\n".utf8)], Self.small())
      }
      let text = [UInt8](repeating: 0x61, count: length)
      let wire = Array("$\(length)\r\n".utf8) + text + Array("\r\n".utf8)
      #expect(try Self.read([wire], Self.small()) == [.bytes(text)])
    }

    @Test func `the strings of an array count together`() {
      let half = [UInt8](repeating: 0x61, count: 600_000)
      let part = Array("$600000\r\n".utf8) + half + Array("\r\n".utf8)
      #expect(throws: RedisFailure.limit("r", "a reply is larger than 1 MiB")) {
        try Self.read([Array("*2\r\n".utf8) + part + Array("$600000\r\n".utf8)], Self.small())
      }
    }

    @Test(arguments: ["*5\r\n", "*2\r\n*3\r\n", "*3\r\n+a\r\n*2\r\n", "*2147483647\r\n"])
    func `an array is refused by its length alone`(wire: String) {
      #expect(throws: RedisFailure.limit("r", "a reply has more than 4 elements")) {
        try Self.read([Array(wire.utf8)], Self.small())
      }
    }

    @Test func `limits count for one reply, not for all together`() throws {
      let wire = String(repeating: "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", count: 100)
      #expect(try Self.read([Array(wire.utf8)], Self.small()).count == 100)
    }

    @Test(arguments: ["+", "-", ":", "$", "*"])
    func `a line without an end is refused`(kind: String) {
      let wire = Array((kind + String(repeating: "1", count: 2000)).utf8)
      #expect(throws: RedisFailure.limit("r", "a line of a reply is longer than 1 KiB")) {
        try Self.read([wire], Self.small())
      }
    }

    @Test func `arrays inside arrays are read to a depth of seven`() throws {
      func nested(_ depth: Int) -> [UInt8] {
        Array((String(repeating: "*1\r\n", count: depth) + ":1\r\n").utf8)
      }
      let depth = RedisReader.Limits.depth
      #expect(try Self.read([nested(depth)]).count == 1)
      #expect(throws: RedisFailure.self) { try Self.read([nested(depth + 2)]) }
    }
  }
#endif

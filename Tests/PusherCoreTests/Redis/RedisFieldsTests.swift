#if Redis
  import PusherCluster
  import TestSupport
  import Testing

  @Suite struct RedisFieldsTests {
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
#endif

import PusherCore
import TestSupport
import Testing

struct WallTimeTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (1_795_225_171_121, "2026-11-21T01:39:31.121Z"),
      (951_782_399_999, "2000-02-28T23:59:59.999Z"),
      (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_800_000, "2000-03-01T00:00:00.000Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (Int64.max, "9999-12-31T23:59:59.999Z"),
      (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (Int64.min, "0000-01-01T00:00:00.000Z"),
    ] as [(Int64, String)])
  func `a time is written as RFC 3339 says`(milliseconds: Int64, text: String) {
    #expect(WallTime(millisecondsSince1970: milliseconds).rfc3339 == text)
  }

  @Test(
    arguments: [
      ("2026-11-21T01:39:31.121Z", 1_795_225_171_121), ("2026-11-21t01:39:31z", 1_795_225_171_000),
      ("2026-11-21T02:39:31.1219999+01:00", 1_795_225_171_121),
      ("2026-11-20T19:09:31.1-06:30", 1_795_225_171_100), ("1970-01-01T00:00:00.05Z", 50),
      ("2016-12-31T23:59:60Z", 1_483_228_800_000), ("0000-01-01T00:00:00Z", -62_167_219_200_000),
    ] as [(String, Int64)])
  func `a time is read as RFC 3339 says`(text: String, milliseconds: Int64) {
    #expect(WallTime(rfc3339: text)?.millisecondsSince1970 == milliseconds)
  }

  @Test(
    arguments: [
      "", "2026-11-21", "2026-11-21T01:39:31", "2026-11-21 01:39:31Z", "2026-02-29T00:00:00Z",
      "2026-13-01T00:00:00Z", "2026-00-10T00:00:00Z", "2026-11-21T24:00:00Z",
      "2026-11-21T01:60:00Z", "2026-11-21T01:39:61Z", "2026-11-21T01:39:31.Z",
      "2026-11-21T01:39:31ZZ", "2026-11-21T01:39:31+0100", "2026-11-21T01:39:31+01:00:00",
      "2026/11/21T01:39:31Z", "+026-11-21T01:39:31Z", "2026-11-21T01:39:31.1x1Z",
      "２０２６-11-21T01:39:31Z", "2026-11-21T01:39:31.\(String(repeating: "1", count: 64))Z",
    ])
  func `a text of another form, and a day that no calendar has, are no time`(text: String) {
    #expect(WallTime(rfc3339: text) == nil)
  }

  @Test func `every time that is written is read again`() {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<1000 {
      let time = WallTime(
        millisecondsSince1970: .random(
          in: -62_167_219_200_000...253_402_300_799_999, using: &random))
      #expect(WallTime(rfc3339: time.rfc3339) == time)
    }
  }
}

import PusherCore
import Testing

@Suite struct WallTimeTests {
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
}

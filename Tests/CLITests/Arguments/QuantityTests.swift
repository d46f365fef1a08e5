import Testing

@testable import pusher_cli

struct `Times and sizes` {
  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("30s", .seconds(30)), ("5m", .seconds(300)),
    ("2h", .seconds(7200)), ("1h30m", .seconds(5400)), ("90", .seconds(90)),
    ("1.5", .milliseconds(1500)), ("0.25s", .milliseconds(250)), ("1m500ms", .milliseconds(60_500)),
    ("1.5h", .seconds(5400)), ("87600h", .seconds(315_360_000)),
  ])
  func `each form of a time is read`(text: String, duration: Duration) {
    #expect(Quantities.duration(text) == duration)
  }

  @Test(arguments: [
    "", "0", "0s", "-1", "s", "5x", "5 s", "1m2h", "1s1s", "1h30", "30m5", "1..5", ".5", "1.",
    "1e3", "5S", "87601h", "9223372036854775807h", "99999999999999999999", "٣s", "1.0123456789",
  ])
  func `text that is no time is refused`(text: String) { #expect(Quantities.duration(text) == nil) }

  @Test(arguments: [
    ("65536", 65_536), ("64k", 65_536), ("64K", 65_536), ("16M", 16_777_216), ("1G", 1 << 30),
  ])
  func `each size is read`(text: String, bytes: Int) { #expect(Quantities.size(text) == bytes) }

  @Test(arguments: ["", "k", "1.5M", "-1", "16MB", "9223372036854775807k", "٣"])
  func `text that is no size is refused`(text: String) { #expect(Quantities.size(text) == nil) }

  @Test(arguments: [
    ("", "abc", 3), ("chanel", "channel", 1), ("hots", "host", 1), ("same", "same", 0),
    ("kitten", "sitting", 3), ("a", "", 1),
  ])
  func `distance counts edits and swaps`(left: String, right: String, distance: Int) {
    #expect(Suggestion.distance(left, right) == distance)
    #expect(Suggestion.distance(right, left) == distance)
  }
}

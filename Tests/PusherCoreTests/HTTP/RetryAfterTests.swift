import PusherCore
import TestSupport
import Testing

/// RFC 9110 sections 5.6.7 and 10.2.3.
struct RetryAfterTests {
  /// 2026-11-21T00:00:00Z.
  private let now = WallTime(millisecondsSince1970: 1_795_219_200_000)

  @Test(arguments: [
    // The three forms of a date.
    ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"),
    // Dates at the edges.
    ("Thu, 29 Feb 2024 23:59:60 GMT", "2024-03-01T00:00:00.000Z"),
    ("Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.000Z"),
    ("Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.000Z"),
    ("Friday, 01-Jan-76 00:00:00 GMT", "2076-01-01T00:00:00.000Z"),
    ("Saturday, 01-Jan-77 00:00:00 GMT", "1977-01-01T00:00:00.000Z"),
  ])
  func `a date is read in all its forms`(text: String, moment: String) {
    #expect(HTTPDate.parse(text, now: now)?.rfc3339 == moment)
  }

  @Test(arguments: [
    "", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 06 Now 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sun, 06 Nov 199 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "-1", "1.5", "+3", "1 2",
  ])
  func `text that is neither seconds nor a date names no time to wait`(text: String) {
    #expect(HTTPDate.parse(text, now: now) == nil && HTTPDate.wait(text, now: now) == nil)
  }

  @Test(arguments: [
    ("0", 0), ("120", 120), ("Sat, 21 Nov 2026 00:01:30 GMT", 90),
    ("Fri, 20 Nov 2026 00:00:00 GMT", 0),
    // A number beyond reason is a long time and no crash.
    ("9999999999999999999999", 3_153_600_000), ("9223372036854775807", 3_153_600_000),
    ("3153600001", 3_153_600_000),
  ])
  func `seconds, a date ahead and a date past`(text: String, seconds: Int) {
    let wait = HTTPDate.wait(text, now: now)
    #expect(wait == .seconds(seconds) && (wait?.wholeNanoseconds ?? -1) >= 0)
  }

  @Test func `the days since 1970 are the inverse of the calendar`() {
    for day in stride(from: Int64(-719_468), through: 2_932_896, by: 97) {
      let time = WallTime(millisecondsSince1970: day * 86_400_000).rfc3339
      let parts = time.prefix(10).split(separator: "-").compactMap { Int64($0) }
      guard parts.count == 3 else { continue }
      #expect(
        WallTime.daysSince1970(year: parts[0], month: parts[1], day: parts[2]) == max(day, -719_528)
      )
    }
  }
}

struct ForeignProtocolTests {
  private func name(_ bytes: [UInt8]) -> String? {
    withView(bytes) { ForeignProtocol($0).map { "\($0)" } }
  }

  @Test func `an HTTP answer is none, however little of it has come`() {
    let answer = Array("HTTP/1.1 101 Switching".utf8)
    for count in 0...answer.count { #expect(name(Array(answer[..<count])) == nil) }
  }

  @Test(arguments: [
    ("SSH-2.0-x\r\n", "SSH"), ("220 mail\r\n", "'220 mail'"), ("HTML\n", "'HTML'"),
    ("http/1.1 200", "'http/1.1 200'"), ("\r\n\r\n", "''"), ("a\n", "'a'"), ("+OK\r\n", "'+OK'"),
  ])
  func `a server of another protocol is named or quoted`(text: String, part: String) {
    #expect(name(Array(text.utf8))?.contains(part) == true)
  }

  @Test(
    arguments: [
      ([21, 3], "TLS", true), ([22, 3, 3, 0, 1], "TLS", true), ([0, 0, 6, 4, 0], "HTTP/2", true),
      // GOAWAY, after a request that is no preface of HTTP/2.
      ([0, 0, 34, 7, 0, 0, 0, 0, 0], "HTTP/2", true), ([0, 0, 34, 3, 0], "HTTP/2", false),
      ([21], "", nil),
    ] as [([UInt8], String, Bool?)])
  func `TLS and HTTP 2 are known by the first bytes`(bytes: [UInt8], part: String, isNamed: Bool?) {
    #expect(name(bytes)?.contains(part) == isNamed)
  }

  @Test func `every split of every first four bytes gives an answer or waits, never a crash`() {
    for first in UInt8.min...UInt8.max {
      for count in 1...5 {
        let bytes = Array([first, 0, 255, 10, 1].prefix(count))
        let isWhole = count >= 4
        #expect(!isWhole || name(bytes) != nil || first == 0x48)
      }
    }
  }
}

import Testing

@testable import pusher_cli

@Suite("The errors of a run of bench")
struct ErrorCountsTests {
  @Test func `errors of one code are one, with the words of the first`() {
    var (left, right) = (ErrorCounts(), ErrorCounts())
    left.note("4301", "too many")
    for _ in 0..<3 { right.note("4301", "too many here") }
    right.note("network", "connection refused")
    left.add(right)
    #expect(left.total == 5 && left.entry(of: "4301")?.count == 4 && left.entry(of: "4302") == nil)
    #expect(left.entries.map(\.count) == [4, 1] && left.entries[0].example == "too many")
  }

  @Test func `errors of more codes than there is room for are others`() {
    var counts = ErrorCounts()
    for group in 0..<3 {
      var more = ErrorCounts()
      for code in 0..<40 { more.note("\(group)-\(code)", "no") }
      counts.add(more)
    }
    #expect(counts.total == 120 && counts.entries.count == 51)
    #expect(counts.entries.last?.code == "other" && counts.entries.last?.count == 70)
  }

  @Test func `the most frequent error that keeps something away is the main one`() {
    var counts = ErrorCounts()
    #expect(counts.main == nil)
    for _ in 0..<9 { counts.note("4301", "told, and not away") }
    #expect(counts.main == nil)
    counts.note("api 404", "Unknown app: 999", .refused)
    for _ in 0..<2 { counts.note("api 500", "down", .overloaded) }
    #expect(counts.main?.entry.code == "api 500" && counts.main?.cause == .overloaded)
  }
}

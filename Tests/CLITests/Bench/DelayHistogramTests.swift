import Testing

@testable import pusher_cli

@Suite("The histogram of delays")
struct DelayHistogramTests {
  private func histogram(_ delays: Duration...) -> DelayHistogram {
    var histogram = DelayHistogram()
    for delay in delays { histogram.record(delay) }
    return histogram
  }

  @Test func `without delays nothing is known`() {
    let empty = DelayHistogram()
    #expect(empty.percentile(50) == nil && empty.mean == nil)
    #expect(empty.count == 0 && empty.largest == .zero && empty.steps.isEmpty)
  }

  @Test func `a percentile is the delay that so many do not exceed`() {
    var histogram = DelayHistogram()
    for number in 1...1000 { histogram.record(.nanoseconds(number)) }
    #expect(histogram.percentile(50) == .nanoseconds(500))
    #expect(histogram.percentile(99) == .nanoseconds(990))
    #expect(histogram.percentile(99.9) == .nanoseconds(999))
    #expect(histogram.percentile(100) == .nanoseconds(1000))
    #expect(histogram.percentile(0) == .nanoseconds(1))
    #expect(histogram.mean == .nanoseconds(500))
  }

  @Test(arguments: [1, 2047, 2048, 2049, 4095, 4096, 1_000_000, 123_456_789, 3_599_999_999_999])
  func `a value is known to three digits, and never told smaller than it is`(value: Int) throws {
    // A larger value keeps the largest one from hiding the width of the bucket.
    let told = try #require(histogram(.nanoseconds(value), .seconds(3600)).percentile(50))
    #expect(told >= .nanoseconds(value))
    #expect(told <= .nanoseconds(value + value / 1000))
  }

  @Test func `the largest delay is exact, and no percentile exceeds it`() {
    let histogram = histogram(.nanoseconds(123_456_789))
    #expect(histogram.largest == .nanoseconds(123_456_789))
    #expect(histogram.percentile(50) == .nanoseconds(123_456_789))
  }

  @Test func `absurd values count at the ends`() {
    let histogram = histogram(.seconds(-5), .seconds(1_000_000_000), .nanoseconds(Int64.max))
    #expect(histogram.count == 3)
    #expect(histogram.percentile(1) == .zero)
    #expect(histogram.largest == .nanoseconds(Int64.max))
    #expect(histogram.percentile(99) ?? .zero >= DelayHistogram.limit)
  }

  @Test func `a histogram can be emptied`() {
    var histogram = histogram(.seconds(1))
    histogram.removeAll()
    #expect(histogram.count == 0 && histogram.percentile(50) == nil)
    histogram.record(.nanoseconds(3))
    #expect(histogram.percentile(50) == .nanoseconds(3))
  }

  @Test func `the table is HdrHistogram's, in milliseconds`() {
    let lines = histogram(.milliseconds(1), .milliseconds(1), .milliseconds(2), .milliseconds(4))
      .table.split(separator: "\n")
    #expect(lines.first == "       Value     Percentile TotalCount 1/(1-Percentile)")
    #expect(lines.count == 6)
    #expect(lines[1].hasSuffix(" 0.5 2 2"))
    #expect(lines[3] == "4 1 4")
    #expect(lines[4] == "#[Mean    = 2, Max = 4]" && lines[5] == "#[Total count = 4]")
  }
}

import PusherCore
import Testing

@testable import pusher_cli

struct `The chart of the delays` {
  private func row(_ p50: Int?, _ p99: Int?, lost: Int = 0) -> BenchSeconds.Row {
    .init(
      lost: lost, p50: p50.map { .milliseconds($0) }, p99: p99.map { .milliseconds($0) },
      largest: p99.map { .milliseconds($0 * 2) })
  }

  private func chart(
    _ rows: [BenchSeconds.Row], columns: Int = 80, isUnicode: Bool = true
  ) -> [Substring]? {
    DelayChart(rows, columns: columns, isUnicode: isUnicode)?.text.split(
      separator: "\n", omittingEmptySubsequences: false)
  }

  @Test func `bars show p50 and p99, and an x the seconds with losses`() {
    let rows = [row(1, 3), row(3, 6, lost: 2), row(nil, nil), row(6, 6), row(0, 0)]
    #expect(
      chart(rows) == [
        "delays        █ p50, ░ p99, x lost; a column is 1 s", "        6 ms │ ░ █",
        "             │ ░ █", "             │ ░ █", "             │░█ █", "             │░█ █",
        "        0 ms │██ █▁", "             └─────", "               x", "              0 s 5 s",
        "",
      ])
  }

  @Test func `without UTF-8 the bars are ASCII, and without losses no line shows them`() {
    let lines = chart([row(1, 6), row(3, 6)], isUnicode: false)
    #expect(lines?.first == "delays        # p50, : p99; a column is 1 s")
    #expect(lines?[1] == "        6 ms |::" && lines?[6] == "        0 ms |##")
    #expect(lines?[7] == "             +--" && lines?[8] == "              0 s 2 s")
  }

  @Test func `a column of several seconds shows the worst`() {
    let rows = (0..<30).map { row(1, $0 == 17 ? 6 : 1, lost: $0 == 29 ? 1 : 0) }
    let lines = chart(rows, columns: 30)
    #expect(lines?.first?.hasSuffix("; a column is the worst second of 2") == true)
    #expect(lines?[1] == "        6 ms │        ░")
    #expect(lines?[8] == "                            x")
  }

  @Test func `every line fits the terminal`() {
    for columns in 25...90 {
      let lines = chart((0..<200).map { row(1, $0 + 1) }, columns: columns)
      #expect(lines?.dropFirst().allSatisfy { $0.count <= columns } == true, "\(columns)")
    }
  }

  @Test func `nothing to compare and no room make no chart`() {
    #expect(chart([row(1, 2)]) == nil)
    #expect(chart([row(1, 2), row(nil, nil)]) == nil)
    #expect(chart([row(1, 2), row(1, 2)], columns: 24) == nil)
    #expect(chart([row(1, 2), row(1, 2)], columns: 25) != nil)
  }
}

@Suite("The image of the delays", .runsPrograms)
struct DelayImageTests {
  private func image(_ rows: [BenchSeconds.Row]) throws -> SVGImage {
    let settings = try BenchSettings(
      arguments("bench --local"), environment: [:], files: PretendFiles(contents: [:]).access)
    var figures = RunFigures()
    figures.events = EventFigures()
    figures.rows = rows
    let report = BenchReport(settings, figures, opened: nil, begin: nil, isInterrupted: false)
    return try SVGImage(DelayImage(report).text)
  }

  private func row(_ milliseconds: Int?, lost: Int = 0) -> BenchSeconds.Row {
    let delay = milliseconds.map { Duration.milliseconds($0) }
    return .init(lost: lost, p50: delay, p99: delay, largest: delay.map { $0 * 10 })
  }

  @Test func `a line has a point for each second with deliveries, else a gap`() throws {
    let image = try image([row(1), row(2), row(nil), row(3), row(nil), row(4), row(5)])
    for name in ["p50", "p99", "max"] {
      #expect(image.points(of: name) == 5, "\(name)")
      #expect(image.pieces(of: name) == 3, "\(name)")
    }
  }

  @Test func `lost events are marked in their second`() throws {
    let image = try image([row(1), row(2, lost: 3), row(1), row(nil, lost: 1)])
    for text in ["3 lost in second 1", "1 lost in second 3", "lost events"] {
      #expect(image.texts.contains(text), "\(text)")
    }
    #expect(try !self.image([row(1)]).texts.contains("lost events"))
  }

  @Test func `the axes have their units, and a title says what the image is`() throws {
    let image = try image([row(1), row(200)])
    for text in [
      "Delays of bench fanout on 127.0.0.1", "time in seconds", "delay, logarithmic", "1 ms",
      "10 ms", "1 s", "10 s", "0", "2", "p50", "p99", "max",
    ] { #expect(image.texts.contains(text), "\(text)") }
  }

  @Test func `a run without a delivery still makes an image`() throws {
    #expect(try image([]).points(of: "p50") == 0)
    #expect(try image([row(nil, lost: 1)]).points(of: "max") == 0)
    #expect(try image([row(0), row(0)]).points(of: "p99") == 2)
  }

  @Test func `a long run has at most a thousand points`() throws {
    let image = try image((0..<86_400).map { row($0 % 50 + 1) })
    #expect(image.points(of: "p50") <= DelayImage.pointLimit)
    #expect(image.points(of: "p50") > DelayImage.pointLimit / 2)
    #expect(image.texts.contains { $0.contains("each point is the worst second of 87") })
  }

  @Test func `the image has no scripts, needs nothing else, and follows light and dark`() throws {
    let image = try image([row(1), row(2, lost: 1)])
    #expect(image.names == ["desc", "line", "path", "rect", "style", "svg", "text", "title"])
    #expect(!image.attributes.contains { $0.hasPrefix("on") || $0.hasSuffix("href") })
    for word in ["url(", "@import"] { #expect(!image.source.contains(word), "\(word)") }
    #expect(image.source.contains("prefers-color-scheme: dark"))
  }
}

struct `The histogram of delays` {
  private func histogram(_ delays: Duration...) -> DelayHistogram {
    var histogram = DelayHistogram()
    for delay in delays { histogram.record(delay) }
    return histogram
  }

  @Test func `a histogram without delays knows nothing`() {
    let empty = DelayHistogram()
    #expect(empty.percentile(50) == nil && empty.mean == nil)
    #expect(empty.count == 0 && empty.largest == .zero && empty.steps.isEmpty)
  }

  @Test func `a percentile is the delay that so many do not exceed`() {
    var histogram = DelayHistogram()
    for number in 1...1000 { histogram.record(.nanoseconds(number)) }
    let known: [(Double, Int)] = [(0, 1), (50, 500), (99, 990), (99.9, 999), (100, 1000)]
    for (percent, delay) in known {
      #expect(histogram.percentile(percent) == .nanoseconds(delay), "\(percent)")
    }
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

  @Test func `absurd delays count at the ends of the histogram`() {
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

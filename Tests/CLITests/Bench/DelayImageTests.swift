import PusherCore
import Testing

@testable import pusher_cli

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

  @Test func `each line has a point for each second with deliveries, and a gap for the others`()
    throws
  {
    let image = try image([row(1), row(2), row(nil), row(3), row(nil), row(4), row(5)])
    for name in ["p50", "p99", "max"] {
      #expect(image.points(of: name) == 5, "\(name)")
      #expect(image.pieces(of: name) == 3, "\(name)")
    }
  }

  @Test func `lost events are marked in their second`() throws {
    let image = try image([row(1), row(2, lost: 3), row(1), row(nil, lost: 1)])
    #expect(image.texts.contains("3 lost in second 1"))
    #expect(image.texts.contains("1 lost in second 3"))
    #expect(image.texts.contains("lost events"))
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

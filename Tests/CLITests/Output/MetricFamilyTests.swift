import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

/// Prometheus' page "Exposition formats", section "Text-based format".
struct `The text of metrics` {
  @Test func `a family is its help, its type and a line for each sample`() {
    let families = [
      MetricFamily("a_total", "How many.", 3),
      MetricFamily("b_seconds", "How long.", Duration.milliseconds(1500)),
      MetricFamily(
        "c", "Of each.",
        [.init(1, ("x", "1"), ("y", "")), .init(-2, ("x", "2"))]),
      MetricFamily("d", "None.", []),
    ]
    #expect(
      MetricFamily.text(of: families) == """
        # HELP a_total How many.
        # TYPE a_total counter
        a_total 3
        # HELP b_seconds How long.
        # TYPE b_seconds gauge
        b_seconds 1.5
        # HELP c Of each.
        # TYPE c gauge
        c{x="1",y=""} 1
        c{x="2"} -2
        # HELP d None.
        # TYPE d gauge

        """)
  }

  @Test func `families of one name are one`() {
    let families = [
      MetricFamily("a", "X.", [.init(1, ("x", "1"))]), MetricFamily("b", "Y.", 2),
      MetricFamily("a", "X.", [.init(3, ("x", "2"))]),
    ]
    let lines = MetricFamily.text(of: families).split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(lines == ["a{x=\"1\"} 1", "a{x=\"2\"} 3", "b 2"])
  }

  @Test func `backslashes, quotes and line ends of a label are escaped, nothing else`() {
    let family = MetricFamily("a", "X.", [.init(1, ("x", "\\ \" \n \r\n \t ä e\u{301}"))])
    let line = "a{x=\"\\\\ \\\" \\n \r\\n \t ä e\u{301}\"} 1\n"
    #expect(MetricFamily.text(of: [family]).hasSuffix(line))
  }
}

struct `Events by channel or name` {
  private func noted(_ names: [String], in counts: NameCounts) -> NameCounts {
    for (place, name) in names.enumerated() {
      withView(Array(name.utf8)) { counts.note($0, bytes: place) }
    }
    return counts
  }

  private func counts(_ limit: Int, _ names: [String]) -> [String] {
    noted(names, in: NameCounts(limit: limit, longest: 256, others: "(other)")).counts
      .map { "\($0.name) \($0.count.events)" }
  }

  @Test func `names are told apart by their text, not by its escapes`() {
    #expect(counts(9, ["a", #"\u0061"#, #"\\"#, "a", #"b\n"#]) == [#"\ 1"#, "a 3", "b\n 1"])
  }

  @Test func `a summary has the names with most bytes first, and the sums`() {
    #expect(
      noted(["(all)", "b", "(all)", "c", "d"], in: NameCounts(limit: 2)).lines == [
        "events  bytes  event", "     2      2  (all)", "     1      1  b",
        "     2      7  (all other names)", "     5     10  (all)",
      ])
  }

  @Test func `channels beyond the limit stand together, in whatever order they come`() {
    #expect(counts(2, ["b", "a", "c", "b", "d", "c", "a", "a"]) == ["a 3", "b 2", "(other) 3"])
    #expect(counts(0, ["a", "a"]) == ["(other) 2"])
    #expect(counts(2, []) == [])
    // A peer may use the name `(other)` too.
    #expect(counts(1, ["(other)", "a", "b"]) == ["a 1", "(other) 2"])
  }

  @Test func `names that look alike are several, and one that no channel has is none`() {
    #expect(
      counts(9, ["\u{E9}", "e\u{301}", "(other)", "", ""]).sorted()
        == [" 2", "(other) 1", "e\u{301} 1", "\u{E9} 1"].sorted())
  }

  @Test func `a name that no server allows is not kept`() {
    let (longest, longer) = (String(repeating: "a", count: 256), String(repeating: "a", count: 257))
    #expect(counts(9, [longest, longer]) == ["\(longest) 1", "(other) 1"])
  }
}

import Foundation
import Testing

/// The table of docs/check.md, compared with the program.
enum CheckPage {
  struct Row: Equatable, CustomStringConvertible {
    var setup: String
    var stage: String
    var came: String
    var fault: String
    var advice: [String]
    var status: Int32

    var description: String {
      let advice = advice.isEmpty ? "—" : advice.map { "`\($0)`" }.joined(separator: " ")
      return "| \(setup) | \(stage) | `\(came)` | \(fault) | \(advice) | \(status) |"
    }

    /// The row without details that differ between runs and machines.
    fileprivate var plain: Row {
      var row = self
      row.came = Self.plain(came)
      // Another program may listen on a usual port of this machine.
      row.advice = advice.map(Self.plain).filter {
        $0.wholeMatch(of: /port \d+ of .* answers: .*/) == nil
      }
      if row.advice.isEmpty, !advice.isEmpty { row.advice = [Self.nobodyElse] }
      return row
    }

    private static let nobodyElse =
      "no other usual port of 127.0.0.1 answers: is the server running?"

    private static func plain(_ text: String) -> String {
      text.replacing(#/:\d{4,5}\b/#, with: ":PORT").replacing(
        #/--port \d{4,5}\b/#, with: "--port PORT"
      )
      .replacing(#/(nowhere\.invalid: ).*/#) { "\($0.1)REASON" }
      .replacing(#/machine's clock is \S+ \w+/#, with: "machine's clock is TIME")
    }
  }

  static let rows: [(setup: String, text: String)] = {
    let text = (try? Documentation.text("docs/check.md")) ?? ""
    return text.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2).map {
      (String($0.dropFirst(2).prefix { $0 != "|" }.dropLast()), String($0))
    }
  }()

  static func expect(_ seen: Row, sourceLocation: SourceLocation = #_sourceLocation) {
    let expected = "\(seen.plain)"
    #expect(
      rows.first { $0.setup == seen.setup }?.text == expected,
      "docs/check.md: expected\n\(expected)",
      sourceLocation: sourceLocation)
  }
}

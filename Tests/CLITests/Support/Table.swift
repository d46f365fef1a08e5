import Foundation
import Testing

/// A test's table: rows `INPUT => RESULT`; an indented line continues the row above it.
struct Table: RandomAccessCollection, ExpressibleByStringLiteral, Sendable {
  struct Row: CustomTestStringConvertible, Sendable {
    let input: String
    fileprivate let result: String

    var testDescription: String { input }

    /// Expects that a text is the row's result.
    func expect(_ text: String, place: SourceLocation = #_sourceLocation) {
      #expect(isResult(text), "\(text)", sourceLocation: place)
    }

    /// Compares a text with the row's result; `…` at either end of the result stands for any text.
    func isResult(_ text: String) -> Bool {
      let middle = result.trimmingCharacters(in: ["…"])
      return switch (result.hasPrefix("…"), result.hasSuffix("…")) {
      case (false, false): text == middle
      case (false, true): text.hasPrefix(middle)
      case (true, false): text.hasSuffix(middle)
      case (true, true): text.contains(middle)
      }
    }
  }

  private let rows: [Row]

  init(stringLiteral text: String) {
    rows = text.replacing(#/\n +/#, with: " ").split(separator: "\n").map { line in
      let parts = line.components(separatedBy: "=>").map { $0.trimmingCharacters(in: .whitespaces) }
      return Row(input: parts[0], result: parts.dropFirst().joined(separator: "=>"))
    }
  }

  var startIndex: Int { 0 }
  var endIndex: Int { rows.count }
  subscript(place: Int) -> Row { rows[place] }
}

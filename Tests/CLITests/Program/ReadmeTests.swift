import Foundation
import Testing

@testable import pusher_cli

@Suite("What README.md shows", .runsPrograms) struct ReadmeTests {
  /// A command's words as the shell splits them; enough for quotes and variables of the README.
  private static func words(_ command: String) -> [String] {
    var words: [String] = []
    var word = ""
    var quote: Character?
    for character in command {
      if character == quote {
        quote = nil
      } else if quote == nil, "'\"".contains(character) {
        quote = character
      } else if quote == nil, character == " " {
        if !word.isEmpty { words.append(word) }
        word = ""
      } else {
        word.append(character)
      }
    }
    if !word.isEmpty { words.append(word) }
    return words
  }

  @Test func `every command of the examples and recipes is one that the program takes`() throws {
    var checked = 0
    for block in try Documentation.readme("sh") + Documentation.readme("console")
      + [HelpPage.recipes.text]
    {
      let whole = block.replacing("\\\n", with: " ")
      for piece in whole.split(whereSeparator: { "\n|()".contains($0) }) {
        guard let start = piece.range(of: "pusher-cli ") else { continue }
        let words = Self.words(String(piece[start.upperBound...])).filter { $0 != "&" && $0 != "|" }
        guard let first = words.first, Command(word: first) != nil else { continue }
        _ = try Invocation(words)
        checked += 1
      }
    }
    #expect(checked >= 14)
  }
}

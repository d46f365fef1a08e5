import Foundation
import Testing

/// The page for users of PusherSwift says what compiles unchanged and what does not.
@Suite struct `The page for users of PusherSwift` {
  private static let page: String = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let place = root.appending(path: "Sources/PusherCore/PusherCore.docc/ForPusherSwiftUsers.md")
    return (try? String(contentsOf: place, encoding: .utf8)) ?? ""
  }()

  private static func section(_ title: String) throws -> String {
    let rest = try #require(page.components(separatedBy: "### \(title)\n").dropFirst().first)
    return rest.components(separatedBy: "\n### ")[0]
  }

  /// Rows of a table without its head, each with its cells.
  private static func rows(_ text: String) -> [[String]] {
    text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
      line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
    }
  }

  private static func code(_ cell: String) -> String? {
    let parts = cell.components(separatedBy: "`")
    return parts.count >= 3 && parts[0].isEmpty ? parts[1] : nil
  }

  private static func function(_ number: Int, _ body: String) -> String {
    """
    func sample\(number)(
      _ pusher: Pusher, _ channel: PusherChannel, _ room: PusherPresenceChannel,
      _ event: PusherEvent, _ options: PusherClientOptions
    ) throws {
      \(body)
    }
    """
  }

  @Test func `its block of names that are the same compiles`() throws {
    let text = try Self.section("What compiles unchanged")
    let block = try #require(text.components(separatedBy: "```swift\n").dropFirst().first)
    let source = block.components(separatedBy: "\n```")[0]
    let found = try SampleCompiler.diagnostics(of: ["func unchanged() {\n\(source)\n}"])
    #expect(found == [[]])
  }

  @Test func `each line that does not compile is told, and what to write in its place does`()
    throws
  {
    let rows = Self.rows(try Self.section("What does not compile, and what to write"))
    #expect(rows.count > 15)
    var samples: [(text: String, compiles: Bool)] = []
    for row in rows {
      samples.append((try #require(Self.code(row[0])), false))
      if row.count > 1, let code = Self.code(row[1]) { samples.append((code, true)) }
    }
    #expect(samples.count(where: \.compiles) > 10)
    let found = try SampleCompiler.diagnostics(
      of: samples.enumerated().map { Self.function($0, $1.text) })
    for (sample, lines) in zip(samples, found) {
      let errors = lines.filter { $0.contains(": error: ") }
      #expect(errors.isEmpty == sample.compiles, "\(sample.text): \(errors)")
    }
  }
}

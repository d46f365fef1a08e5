import Foundation
import Testing

/// docs/features.md, held to the tests that it names.
@Suite struct `The feature table` {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static func rows() throws -> [[String]] {
    let text = try String(contentsOf: root.appending(path: "docs/features.md"), encoding: .utf8)
    return text.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| feature") }
      .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
  }

  @Test func `every test that a row names exists, and no row names neither a test nor a decision`()
    throws
  {
    var sources = ""
    let folder = Self.root.appending(path: "Tests/PusherCoreTests")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
      sources += try String(contentsOf: file, encoding: .utf8)
    }
    let rows = try Self.rows()
    #expect(rows.count > 80)
    for row in rows {
      let cell = try #require(row.last)
      let names = cell.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 1 }.map { String($0.element) }
      #expect(!names.isEmpty || cell.contains("decision 0013"), "\(row)")
      for name in names { #expect(sources.contains("func `\(name)`("), "\(name)") }
    }
  }
}

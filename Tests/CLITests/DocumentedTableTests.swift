import Foundation
import Testing

/// A page's tables whose last column names the test of each row.
struct DocumentedTable {
  var rows: [[String]] { parts.flatMap(\.rows) }
  /// The rows of each table, by the heading above it.
  let parts: [(title: String, rows: [[String]])]

  static let root = URL(filePath: Documentation.folder)

  init(_ path: String) throws {
    let text = try Documentation.text(path)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var parts: [(title: String, rows: [[String]])] = [("", [])]
    for (line, next) in zip(lines, lines.dropFirst()) {
      if line.hasPrefix("## ") { parts.append((String(line.dropFirst(3)), [])) }
      guard line.hasPrefix("| "), !next.hasPrefix("|---") else { continue }
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      parts[parts.count - 1].rows.append(cells)
    }
    self.parts = parts.filter { !$0.rows.isEmpty }
  }
}

/// Tests/features.md, docs/peers.md, docs/moving.md and Tests/conventions.md must name existing
/// tests.
struct `Tables that name the tests behind them` {
  private static let tests = Result {
    let folder = DocumentedTable.root.appending(path: "Tests")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var names: Set<String> = []
    for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
      let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "func `")
      for part in parts.dropFirst() { names.insert(part.components(separatedBy: "`(")[0]) }
    }
    return names
  }

  @Test(arguments: ["Tests/features.md", "docs/peers.md", "Tests/conventions.md", "docs/moving.md"])
  func `each named test exists, and each row names a test or a decision`(page: String) throws {
    let tests = try Self.tests.get()
    let decisions = try FileManager.default.contentsOfDirectory(
      atPath: DocumentedTable.root.appending(path: "docs/decisions").path)
    let rows = try DocumentedTable(page).rows
    #expect(!rows.isEmpty)
    for row in rows {
      let cell = try #require(row.last)
      let names = cell.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 1 }.map { String($0.element) }
      let decided = cell.matches(of: /decision ([0-9]{4})/).map { String($0.output.1) }
      #expect(!names.isEmpty || !decided.isEmpty || cell.hasPrefix("left out: "), "\(row)")
      for name in names {
        // Failures show only the missing name because there are thousands.
        let isThere = tests.contains(name)
        #expect(isThere, "\(name)")
      }
      for number in decided {
        #expect(decisions.contains { $0.hasPrefix(number + "-") }, "decision \(number)")
      }
    }
  }

  @Test func `the libraries of docs/peers.md have the versions that the tests install`() throws {
    let text = try Documentation.text("Tests/requirements.txt")
    let pins = text.split(separator: "\n").filter { $0.contains("==") }
      .map { $0.lowercased().components(separatedBy: "==") }
    let versions = Dictionary(uniqueKeysWithValues: pins.map { ($0[0], $0[1]) })
    let rows = try DocumentedTable("docs/peers.md").rows
    let names: Set = [
      "pusher", "pysher", "sockudo-python", "sockudo-http-python", "websockets", "Chromium",
    ]
    #expect(Set(rows.map { $0[0] }) == names)
    for row in rows where row[0] != "Chromium" { #expect(row[1] == versions[row[0]], "\(row)") }
  }
}

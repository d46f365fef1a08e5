import Foundation
import Testing

/// A page's tables whose last column names the test of each row.
struct DocumentedTable {
  var rows: [[String]] { parts.flatMap(\.rows) }
  /// The rows of each table, by the heading above it.
  let parts: [(title: String, rows: [[String]])]

  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  init(_ path: String) throws {
    let text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
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
@Suite struct `Tables that name the tests behind them` {
  private static func everyTest() throws -> String {
    var sources = ""
    let folder = DocumentedTable.root.appending(path: "Tests")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
      sources += try String(contentsOf: file, encoding: .utf8)
    }
    return sources
  }

  @Test(
    arguments: [
      ("Tests/features.md", 150), ("docs/peers.md", 25), ("Tests/conventions.md", 117),
      ("docs/moving.md", 45),
    ])
  func `every test that a row names exists, and no row names neither a test nor a decision`(
    page: String, moreThan count: Int
  ) throws {
    let sources = try Self.everyTest()
    let decisions = try FileManager.default.contentsOfDirectory(
      atPath: DocumentedTable.root.appending(path: "docs/decisions").path)
    let rows = try DocumentedTable(page).rows
    #expect(rows.count > count)
    for row in rows {
      let cell = try #require(row.last)
      let names = cell.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 1 }.map { String($0.element) }
      let decided = cell.matches(of: /decision ([0-9]{4})/).map { String($0.output.1) }
      #expect(!names.isEmpty || !decided.isEmpty || cell.hasPrefix("left out: "), "\(row)")
      for name in names {
        // Failures show only the test name because the sources are long.
        let isThere = sources.contains("func `\(name)`(")
        #expect(isThere, "\(name)")
      }
      for number in decided {
        #expect(decisions.contains { $0.hasPrefix(number + "-") }, "decision \(number)")
      }
    }
  }

  @Test
  func `Tests/features.md has the 142 rows of the seeds, and each sentence stands in its suite`()
    throws
  {
    let rows = try DocumentedTable("Tests/features.md").rows
    let numbered = rows.filter { Int($0[0]) != nil }
    #expect(numbered.map { $0[0] } == (1...142).map(String.init))
    #expect(numbered.allSatisfy { $0.count == 4 && !$0.contains("") })
    let suites = try TestSuites()
    for row in rows {
      var suite = ""
      let parts = (row.last ?? "").split(separator: "\"", omittingEmptySubsequences: false)
      for (index, part) in parts.enumerated() {
        guard index % 2 == 1 else {
          // Names within one suite are separated by a comma alone.
          let name = part.drop { $0 == "," || $0 == " " }
          if name.hasSuffix(": ") { suite = String(name.dropLast(2)) }
          continue
        }
        let isThere = suites.holds(String(part), in: suite)
        #expect(isThere, "\(row[0]): no '\(part)' in \(suite)")
      }
    }
  }

  @Test
  func `Tests/conventions.md has 45 conventions, 59 complaints and 16 checks, each by its name`()
    throws
  {
    let parts = try DocumentedTable("Tests/conventions.md").parts
    #expect(parts.map(\.title) == ["Conventions", "Complaints", "Acceptance"])
    #expect(parts.map(\.rows.count) == [45, 59, 16])
    for (title, rows) in parts {
      let names = rows.map { $0[0] }
      #expect(Set(names).count == names.count && !names.contains(""), "\(title)")
      let columns = Set(rows.map(\.count))
      #expect(columns.count == 1, "\(title): \(columns)")
      #expect(rows.allSatisfy { row in row.allSatisfy { !$0.isEmpty } }, "\(title)")
    }
    for (title, rows) in parts.dropFirst() {
      #expect(rows.map { $0[0] } == (1...rows.count).map(String.init), "\(title)")
    }
    #expect(parts[1].rows.allSatisfy { $0[1].contains(/#\d+/) })
  }

  @Test func `the libraries of docs/peers.md have the versions that the tests install`() throws {
    let text = try String(
      contentsOf: DocumentedTable.root.appending(path: "Tests/requirements.txt"), encoding: .utf8)
    let pins = text.split(separator: "\n").filter { $0.contains("==") }
      .map { $0.lowercased().components(separatedBy: "==") }
    let versions = Dictionary(uniqueKeysWithValues: pins.map { ($0[0], $0[1]) })
    let rows = try DocumentedTable("docs/peers.md").rows
    #expect(Set(rows.map { $0[0] }) == ["pusher", "pysher", "websockets", "Chromium"])
    for row in rows where row[0] != "Chromium" { #expect(row[1] == versions[row[0]], "\(row)") }
  }
}

/// The tests of each suite, by name.
private struct TestSuites {
  private var sentences: [String: Set<String>] = [:]

  init() throws {
    let folder = DocumentedTable.root.appending(path: "Tests")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
      var reader = Reader()
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
        guard let sentence = reader.sentence(in: line) else { continue }
        sentences[reader.suite, default: []].insert(sentence)
      }
    }
  }

  func holds(_ sentence: String, in suite: String) -> Bool {
    sentences[suite]?.contains(sentence) == true
  }

  /// Reads one file, line by line.
  private struct Reader {
    private(set) var suite = ""
    private var title: String?
    private var awaitsTitle = false

    mutating func sentence(in line: Substring) -> String? {
      if line.contains("@Suite") { (title, awaitsTitle) = (nil, true) }
      if awaitsTitle, let quoted = Self.text(in: line, between: "\"") {
        (title, awaitsTitle) = (quoted, false)
      }
      for word in ["struct ", "class ", "enum "] {
        let isType = line.hasPrefix(word) || line.hasPrefix("final " + word)
        guard isType || line.hasPrefix("@Suite"), let start = line.firstRange(of: word) else {
          continue
        }
        let rest = line[start.upperBound...]
        let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        suite =
          title ?? (rest.first == "`" ? Self.text(in: rest, between: "`") : nil) ?? String(name)
        (title, awaitsTitle) = (nil, false)
      }
      guard let start = line.firstRange(of: "func `") else { return nil }
      return Self.text(in: line[start.lowerBound...], between: "`")
    }

    private static func text(in line: Substring, between quote: Character) -> String? {
      let parts = line.split(separator: quote, omittingEmptySubsequences: false)
      return parts.count > 2 ? String(parts[1]) : nil
    }
  }
}

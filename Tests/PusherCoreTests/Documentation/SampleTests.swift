import Foundation
import Testing

private let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

private func text(_ path: String) throws -> String {
  try String(contentsOf: root.appending(path: path), encoding: .utf8)
}

/// Returns the paths of the files in a folder whose names end this way, from the root.
private func files(_ folder: String, _ ending: String) throws -> [String] {
  try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path).sorted()
    .filter { $0.hasSuffix(ending) }.map { "\(folder)/\($0)" }
}

/// The Swift blocks of the README and the articles are part of `Examples/` or `Integrations/`.
///
/// `make examples` and `scripts/check.sh integrations` build and run them.
struct `The samples of the pages` {
  /// The blocks of this page come from PusherSwift's README; other tests compile and run them.
  private static let elsewhere = "/ForPusherSwiftUsers.md"

  private static func pages() throws -> [String] {
    let catalogs = try ["PusherCore", "PusherTesting"].flatMap {
      try files("Sources/\($0)/\($0).docc", ".md")
    }
    return ["README.md"] + catalogs.filter { !$0.hasSuffix(elsewhere) }
  }

  private static func lines(_ text: some StringProtocol) -> [Substring] {
    Substring(text).split(separator: "\n").filter { line in
      let words = line.drop { $0 == " " }
      return !words.isEmpty && !words.hasPrefix("import ")
    }
  }

  static func blocks(_ page: String) -> [[Substring]] {
    page.components(separatedBy: "```swift\n").dropFirst().map { rest in
      lines(rest.components(separatedBy: "\n```")[0])
    }
  }

  static func stands(_ block: [Substring], in source: [Substring]) -> Bool {
    guard let first = block.first, source.count >= block.count else { return false }
    return (0...(source.count - block.count)).contains { start in
      guard source[start].hasSuffix(first) else { return false }
      let depth = source[start].dropLast(first.count)
      return depth.allSatisfy { $0 == " " }
        && block.indices.allSatisfy { source[start + $0] == depth + block[$0] }
    }
  }

  @Test func `every Swift block stands in a source of the examples or the integrations`() throws {
    let sources = try ["Examples", "Integrations/Sources", "Integrations/Tests"].flatMap {
      try files($0, ".swift")
    }
    .map { Self.lines(try text($0)) }
    var count = 0
    for page in try Self.pages() {
      for block in Self.blocks(try text(page)) {
        count += 1
        #expect(
          sources.contains { Self.stands(block, in: $0) },
          "\(page): no source of Examples or Integrations has the block\n\(block.joined(separator: "\n"))"
        )
      }
    }
    #expect(count > 30)
  }

  @Test func `a block is found at any depth, and not with another line`() {
    let source = Self.lines("func f() {\n    let a = 1\n\n    if a > 0 {\n      b()\n    }\n}\n")
    let found = Self.blocks("```swift\nimport C\n\nlet a = 1\nif a > 0 {\n  b()\n}\n```\n")[0]
    #expect(Self.stands(found, in: source))
    #expect(!Self.stands(found.dropLast() + ["  c()"], in: source))
    #expect(!Self.stands(["a = 1"], in: source))
  }
}

/// Every public type is listed in the topics of its module's page.
struct `The topics of the documentation` {
  /// Old names, kept only to point to the new ones.
  private static let former: Set = ["Service", "Authenticator"]

  private static func types(_ module: String) throws -> Set<String> {
    let kinds: Set<Substring> = ["class", "struct", "enum", "protocol", "actor", "typealias"]
    var names: Set<String> = []
    for file in try files("Sources/\(module)", ".swift") {
      // Readers find a nested type on the page of its outer type.
      for line in try text(file).split(separator: "\n")
      where line.contains("public ") && line.first != " " {
        let words = line.split(separator: " ")
        guard let kind = words.firstIndex(where: kinds.contains), kind + 1 < words.count,
          words[..<kind].contains("public")
        else { continue }
        names.insert(String(words[kind + 1].prefix { $0.isLetter || $0.isNumber }))
      }
    }
    return names.subtracting(former)
  }

  private static func topics(_ module: String) throws -> String {
    let page = try text("Sources/\(module)/\(module).docc/\(module).md")
    return String(try #require(page.components(separatedBy: "## Topics").last))
  }

  @Test(arguments: ["PusherCore", "PusherTesting"])
  func `every public type and article is in a topic, and topics are real`(module: String) throws {
    let topics = try Self.topics(module)
    let listed = topics.split(separator: "\n").filter { $0.hasPrefix("- ``") }.map {
      String($0.dropFirst(4).dropLast(2))
    }
    let types = try Self.types(module)
    #expect(types.count > 3)
    #expect(types.subtracting(listed).sorted() == [])
    #expect(Set(listed).subtracting(types).sorted() == [])
    #expect(listed.count == Set(listed).count)
    for article in try files("Sources/\(module)/\(module).docc", ".md") {
      let name = article.split(separator: "/").last?.dropLast(3) ?? ""
      #expect(topics.contains("- <doc:\(name)>") || name == module, "\(name) is in no topic")
    }
  }
}

import Foundation
import Testing

@testable import pusher_cli

@Suite(.runsPrograms) struct `Help and manual` {
  private static let working = Command.allCases.filter { $0 != .help && $0 != .version }

  private static func manual() throws -> String {
    try String(contentsOf: ManualTests.page, encoding: .utf8)
  }

  /// The lines of one section of the manual.
  private static func section(_ title: String) throws -> [Substring] {
    let lines = try manual().split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0 == ".Sh \(title)" })
    return Array(lines[(start + 1)...].prefix { !$0.hasPrefix(".Sh ") })
  }

  @Test func `every flag is in the complete help of its command`() {
    for command in Self.working {
      let text = HelpPage.command(command, complete: true).text
      for flag in Flag.of(command) {
        let name = flag.isOnByDefault ? "--no-" + flag.name : flag.spelling
        let letter = flag.letter.map { "-\($0), " } ?? ""
        let value = flag.metavariable.isEmpty ? "" : " " + flag.metavariable
        let heads = [" ", "\n"].map { "  \(letter)\(name)\(value)\($0)" }
        #expect(heads.contains { text.contains($0) }, "\(command.rawValue) \(name)")
        #expect(text.contains(flag.summary + (flag.standard.map { " (\($0))" } ?? "") + "\n"))
      }
    }
  }

  @Test func `every flag is in the manual, letter and name on one item`() throws {
    let items = try Self.manual().split(separator: "\n").filter { $0.hasPrefix(".It Fl ") }
    for flag in Flag.all {
      let heads = ".It " + (flag.letter.map { "Fl \($0) , " } ?? "") + "Fl -\(flag.name)"
      let isThere = items.contains { $0 == heads || $0.hasPrefix(heads + " ") }
      #expect(isThere, "\(flag.spelling)")
      #expect(!flag.isOnByDefault || items.contains { $0.contains("Fl -no-\(flag.name)") })
    }
  }

  @Test func `exit statuses read the same in table, help and manual`() throws {
    let lines = try Self.section("EXIT STATUS")
    var items: [String: String] = [:]
    var current: String?
    for line in lines {
      if line.hasPrefix(".It ") {
        current = String(line.dropFirst(4))
      } else if line.hasPrefix(".") {
        current = nil
      } else if let current {
        let text = String(line).replacing("\\-", with: "-")
        items[current] = items[current].map { $0 + " " + text } ?? text
      }
    }
    let expected = ExitStatus.allCases.map { (String($0.rawValue), $0.meaning) }
    #expect(items == Dictionary(uniqueKeysWithValues: expected))
    let help = Self.unwrapped(HelpPage.exitCodes.text)
    for status in ExitStatus.allCases {
      #expect(help.contains("\(status.rawValue) \(status.meaning)"), "\(status)")
    }
    #expect(help.contains(ExitStatus.signals))
    #expect(Self.unwrapped(lines.joined(separator: " ")).contains(ExitStatus.signals))
  }

  @Test func `every variable of the help is in the manual and the other way round`() throws {
    let manual = try Self.section("ENVIRONMENT").joined(separator: "\n")
    let named = /[A-Z]+(_[A-Z]+)+|TERM|COLUMNS|LANG|\bHOME/
    let inHelp = Set(HelpPage.environment.text.matches(of: named).map { String($0.output.0) })
    let items = manual.split(separator: "\n").filter { $0.hasPrefix(".It Ev ") }
    let inManual = Set(
      items.flatMap { $0.split(separator: " ").dropFirst(2) }.map(String.init).filter { $0 != "," })
    #expect(inHelp == inManual, "\(inHelp.symmetricDifference(inManual))")
    #expect(inHelp == Set(Environment.names), "\(inHelp.symmetricDifference(Environment.names))")
  }

  @Test func `pages fit a terminal and end with one newline`() {
    var pages = [HelpPage.overview, .environment, .exitCodes, .faults, .output, .recipes]
    pages += Flag.all.map { .flag($0.name) }
    for word in WebhookWord.allCases {
      pages += [.webhook(word, complete: false), .webhook(word, complete: true)]
    }
    for command in Self.working {
      #expect(HelpPage.command(command, complete: false).text.split(separator: "\n").count <= 40)
      pages += [.command(command, complete: false), .command(command, complete: true)]
    }
    for page in pages {
      for line in page.text.split(separator: "\n") {
        #expect(line.count <= 80, "\(line)")
        #expect(!line.hasSuffix(" "), "\(line)")
      }
      #expect(page.text.hasSuffix("\n") && !page.text.hasSuffix("\n\n"))
    }
  }

  @Test func `the help on faults has a line for every kind`() {
    #expect(Flag.fault.offeredValues.count > 10)
    for kind in Flag.fault.offeredValues {
      #expect(HelpPage.faults.text.contains("\n  \(kind) "), "\(kind)")
    }
  }

  @Test func `no option runs into its text`() {
    for command in Self.working {
      let lines = HelpPage.command(command, complete: true).text.split(separator: "\n")
      for (line, next) in zip(lines, lines.dropFirst()) {
        guard line.hasPrefix("  -") || line.hasPrefix("      --") else { continue }
        let text = next.hasPrefix(String(repeating: " ", count: 28)) ? next : line
        let margin = text.dropFirst(HelpPage.textColumn - 2)
        #expect(margin.prefix(3).count { $0 == " " } == 2 && margin.hasPrefix("  "), "\(line)")
      }
    }
  }

  @Test func `the manual names every topic of the help, the help every field of a line`() throws {
    let commands = try Self.section("DESCRIPTION").joined(separator: " ")
    let entry = try #require(
      commands.components(separatedBy: ".It Cm help ").last?.components(separatedBy: ".It Cm").first
    )
    for topic in HelpPage.topics { #expect(entry.contains(topic.name), "\(topic.name)") }
    let columns = try Self.section("OUTPUT").filter { $0.hasPrefix(".It Va ") }
    #expect(columns.count == 8)
    for line in columns {
      let field = line.split(separator: " ")[2]
      #expect(HelpPage.output.text.contains("  \(field) "), "\(field)")
    }
  }

  @Test func `the overview names every command and topic`() {
    for word in Command.allCases.map(\.rawValue) + HelpPage.topics.map(\.name) {
      #expect(HelpPage.overview.text.contains(word))
    }
  }

  @Test func `the examples of the help are command lines that are understood`() throws {
    for page in [HelpPage.overview] + Self.working.map({ .command($0, complete: false) }) {
      let text = page.text.replacing("\\\n", with: " ")
      for line in text.split(separator: "\n") {
        guard
          let start = line.firstRange(of: "  pusher-cli ") ?? line.firstRange(of: "| pusher-cli ")
        else { continue }
        let command = line[start.upperBound...].prefix { $0 != "|" && $0 != ">" }
        let words = command.split(separator: " ").map { $0.replacing("'", with: "") }
        #expect(throws: Never.self, "\(line)") { try Invocation(words.map(String.init)) }
      }
    }
  }

  @Test(.needs(.program("mandoc")))
  func `the manual is free of mandoc's warnings`() throws {
    let result = try PusherCLI.tool([
      "mandoc", "-T", "lint", "-W", "warning", ManualTests.page.path,
    ])
    #expect(result.ending == .exited(0), "\(result.outputText)")
  }

  private static func unwrapped(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}

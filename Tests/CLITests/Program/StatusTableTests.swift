import Foundation
import Testing

@Suite("Exit statuses as in docs/connection-errors.md", .runsPrograms) struct StatusTableTests {
  /// The rows of the page's last table: set-up, status, commands.
  private static let rows: [String: (status: String, commands: String)] = {
    let text = (try? Documentation.text("docs/connection-errors.md")) ?? ""
    let part = text.components(separatedBy: "## Every command").last ?? ""
    var rows: [String: (String, String)] = [:]
    for line in part.split(separator: "\n") where line.hasPrefix("| ") {
      let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
      guard cells.count == 3, Int(cells[1]) != nil else { continue }
      rows[cells[0]] = (cells[1], cells[2])
    }
    return rows
  }()

  @Test(arguments: BrokenSetup.all.map(\.name))
  func `a cause has one status, whatever the command`(name: String) throws {
    let setup = try #require(BrokenSetup.all.first { $0.name == name })
    let results = try setup.run()
    let statuses = results.map { "\($0.command) \($0.result.ending)" }
    guard case .exited(let status)? = results.first?.result.ending else {
      Issue.record("\(statuses)")
      return
    }
    for (command, result) in results {
      #expect(result.ending == .exited(status), "\(command): \(result.errorText)")
      // The output of `verify` is its verdict.
      #expect(result.errorText.hasPrefix("pusher-cli: ") || command == "verify", "\(command)")
      if let words = setup.words {
        #expect(result.errorText.contains(words), "\(command): \(result.errorText)")
      }
      if setup.isSilent {
        #expect(result.output.isEmpty, "\(command)")
        #expect(result.errorLines.count == 1, "\(command): \(result.errorText)")
      }
    }
    let commands = results.map { "`\($0.command)`" }.joined(separator: " ")
    let row = Self.rows[name]
    #expect(
      row?.status == "\(status)" && row?.commands == commands,
      "docs/connection-errors.md: expected | \(name) | \(status) | \(commands) |")
  }

  @Test func `every row of the document is the row of a test`() {
    let names = BrokenSetup.all.map(\.name)
    #expect(Set(names) == Set(Self.rows.keys))
    #expect(Set(names).count == names.count)
  }
}

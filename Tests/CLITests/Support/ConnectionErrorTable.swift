import Foundation
import Testing

enum ConnectionErrorTable {
  struct Row: Equatable, CustomStringConvertible {
    var message: String
    var status: String
    var isRetried: String

    var description: String { "`\(message)` | \(status) | \(isRetried)" }
  }

  /// The rows of all tables of the document.
  static let lines: [String] = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let file = root.appending(path: "docs/connection-errors.md")
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| ") }
  }()

  static let rows: [String: Row] = {
    var rows: [String: Row] = [:]
    for line in lines {
      let cells = line.dropFirst(2).dropLast(2).split(separator: " | ").map(String.init)
      guard cells.count == 4, cells[1].hasPrefix("`") else { continue }
      let message = String(cells[1].dropFirst().dropLast())
      rows[cells[0]] = Row(message: message, status: cells[2], isRetried: cells[3])
    }
    return rows
  }()

  /// Compares the end of a run, and of a second run with zero retries, with the case's row.
  static func check(
    _ name: String, _ result: ProgramResult, retrying: ProgramResult, port: UInt16,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let lines = result.errorLines.filter { !$0.contains("warning: --insecure") }
    #expect(result.output.isEmpty, sourceLocation: sourceLocation)
    #expect(lines.count == 1, "\(result.errorText)", sourceLocation: sourceLocation)
    var message = String(lines.first ?? "").replacing("pusher-cli: error: ", with: "")
    message = message.replacing(":\(port)", with: ":PORT")
    message = message.replacing(#/sha256/[A-Za-z0-9+/]{43}=/#, with: "sha256/HASH")
    message = message.replacing(#/\(\d+ bytes received\)/#, with: "(N bytes received)")
    var status = "\(result.ending)"
    if case .exited(let number) = result.ending { status = "\(number)" }
    let isRetried = retrying.errorText.contains("gave up after 0 attempts")
    let seen = Row(message: message, status: status, isRetried: isRetried ? "yes" : "no")
    #expect(
      rows[name] == seen, "docs/connection-errors.md: expected | \(name) | \(seen) |",
      sourceLocation: sourceLocation)
  }
}

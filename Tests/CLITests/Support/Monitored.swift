import Foundation
import PusherCore

/// The address of a program's `--metrics`, and its answers.
struct Monitored {
  let url: String
  /// Keeps the program and its server alive.
  private let kept: [AnyObject]

  /// Waits until a program with `--metrics 127.0.0.1:0` reports its address.
  init(_ program: ChildProgram, of server: ScriptedServer) throws {
    try self.init(line: program.errorLine(containing: "metrics at "), keeping: [program, server])
  }

  init(_ server: LocalServer) throws {
    try self.init(line: server.errorLine(containing: "metrics at "), keeping: [server])
  }

  init(port: UInt16) {
    url = "http://127.0.0.1:\(port)"
    kept = []
  }

  private init(line: String, keeping kept: [AnyObject]) throws {
    self.kept = kept
    guard let start = line.range(of: "http://"), line.hasSuffix("/metrics") else {
      throw Unexpected(line)
    }
    url = String(line[start.lowerBound...].dropLast("/metrics".count))
  }

  func ask(_ path: String, _ options: String...) throws -> (body: String, status: Int) {
    let result = try PusherCLI.tool(
      ["curl", "--silent", "--write-out", "\n%{http_code}"] + options + [url + path])
    let text = result.outputText
    guard let end = text.lastIndex(of: "\n"), let status = Int(text[text.index(after: end)...])
    else { throw Unexpected("\(result)") }
    return (String(text[..<end]), status)
  }

  /// Returns the number of the program's descriptors, without the one of this question.
  ///
  /// The program counts, because only root may list those of a program that hides its memory.
  func descriptors() throws -> Int {
    let name = "process_open_fds "
    let lines = try ask("/metrics").body.split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix(name) }),
      let count = Int(line.dropFirst(name.count))
    else { throw Unexpected("no number of descriptors in \(lines)") }
    return count - 1
  }

  /// Returns all samples, parsed by Prometheus' own library.
  func samples() throws -> [String: Double] {
    let reader = try PythonPeer.start("read_metrics.py", [], input: .pipe)
    reader.write(Array(try ask("/metrics").body.utf8))
    reader.closeInput()
    let result = try reader.result()
    guard result.ending == .exited(0) else { throw Unexpected(result.errorText) }
    return try JSONDecoder().decode([String: Double].self, from: Data(result.output))
  }

  /// Waits for a line such as `pusher_cli_events_total 3`, and returns all samples.
  @discardableResult func samples(once line: String) throws -> [String: Double] {
    try waitUntil("/metrics has '\(line)'") {
      try ask("/metrics").body.components(separatedBy: "\n").contains(line)
    }
    return try samples()
  }
}

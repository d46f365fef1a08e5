import Foundation
import PusherCore

/// Details from `/proc` about a child that are not visible otherwise.
extension ChildProgram {
  func awaitThreads(_ count: Int) throws {
    try waitUntil("the process has \(count) threads") {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task"))?.count ?? 0
        >= count
    }
  }

  func port(in file: String) throws -> UInt16 {
    try waitFor("a port file was written; standard error: \(peekAtErrors())") {
      let text = try? String(contentsOfFile: file, encoding: .utf8)
      return text.flatMap { $0.hasSuffix("\n") ? UInt16($0.dropLast()) : nil }
    }
  }

  /// Waits until the program has answered `count` SIGUSR1, each in its own round of the loop.
  ///
  /// Standard output stays unread.
  @discardableResult func goRound(_ count: Int) throws -> Int {
    var queued = 0
    for _ in 0..<count {
      send(SIGUSR1)
      let answer = try errorLine(containing: " bytes queued", readsOutput: false)
      queued = answer.split(separator: " ").suffix(3).first.flatMap { Int($0) } ?? .max
    }
    return queued
  }

  func awaitFullPipe() throws {
    try waitUntil("the output is full; standard error has '\(pendingErrors)'") {
      peekAtErrors().contains("slow")
    }
  }

  /// The processes that this one has started, without those that have ended.
  var children: [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.sorted().filter { process in
      // `N (name) S parent …`; the name may hold blanks.
      let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
      guard let text, let end = text.lastIndex(of: ")") else { return false }
      let fields = text[end...].split(separator: " ")
      return fields.count > 2 && fields[1] != "Z" && fields[2] == "\(id)"
    }
  }

  var peakMemory: Int? {
    let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) }
  }
}

import Foundation
import PusherCore

/// What `/proc` tells about a child, for moments that show in no other way.
extension ChildProgram {
  /// Waits until the process has so many threads.
  func awaitThreads(_ count: Int) throws {
    try waitUntil("the process has \(count) threads") {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task"))?.count ?? 0
        >= count
    }
  }

  /// Waits until the process has a socket, which it makes just before it dials.
  func awaitSocket() throws {
    try waitUntil("the process has a socket") {
      let folder = "/proc/\(id)/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.contains { name in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + name)
        return target?.hasPrefix("socket:") ?? false
      }
    }
  }

  /// The port of a file that the program writes once it listens.
  func port(in file: String) throws -> UInt16 {
    try waitFor("a port file was written; standard error: \(peekAtErrors())") {
      let text = try? String(contentsOfFile: file, encoding: .utf8)
      return text.flatMap { $0.hasSuffix("\n") ? UInt16($0.dropLast()) : nil }
    }
  }

  /// Waits until the program has answered SIGUSR1 so often, each time in a round of its loop; standard output is left alone.
  ///
  /// - Returns: How many bytes then waited for the reader of standard output.
  @discardableResult
  func goRound(_ count: Int) throws -> Int {
    var queued = 0
    for _ in 0..<count {
      send(SIGUSR1)
      let answer = try errorLine(containing: " bytes queued", readsOutput: false)
      queued = answer.split(separator: " ").suffix(3).first.flatMap { Int($0) } ?? .max
    }
    return queued
  }

  /// Waits until the program has said that its reader is slow.
  func awaitFullPipe() throws {
    try waitUntil("the output is full; standard error has '\(pendingErrors)'") {
      peekAtErrors().contains("slow")
    }
  }

  /// The most memory the process has had, in KiB.
  var peakMemory: Int? {
    let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) }
  }
}

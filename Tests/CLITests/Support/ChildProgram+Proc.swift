import Foundation
import PusherCore

/// What `/proc` tells about a child, for moments that show in no other way.
extension ChildProgram {
  /// Waits until the process has so many threads.
  func awaitThreads(_ count: Int) throws {
    try awaitProc("\(count) threads") {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task"))?.count ?? 0
        >= count
    }
  }

  /// Waits until the process has a socket, which it makes just before it dials.
  func awaitSocket() throws {
    try awaitProc("a socket") {
      let folder = "/proc/\(id)/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.contains { name in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + name)
        return target?.hasPrefix("socket:") ?? false
      }
    }
  }

  /// Waits until the program has said that its reader is slow.
  func awaitFullPipe() throws {
    let deadline = SystemClock.now().advanced(by: .seconds(15))
    while !peekAtErrors().contains("slow") {
      guard SystemClock.now() < deadline else { throw Late("the output never was full") }
      usleep(5000)
    }
  }

  /// The most memory the process has had, in KiB.
  var peakMemory: Int? {
    let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) }
  }

  private func awaitProc(_ what: String, _ isReached: () -> Bool) throws {
    let deadline = SystemClock.now().advanced(by: .seconds(15))
    while !isReached() {
      guard SystemClock.now() < deadline else { throw Late("the process never had \(what)") }
      usleep(5000)
    }
  }
}

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

  /// Waits until one of the process's TCP sockets is in a state, a number of `/proc/net/tcp`: 02 is SYN_SENT.
  func awaitSocket(inState state: String) throws {
    try awaitProc("a socket in state \(state)") {
      let folder = "/proc/\(id)/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      let nodes = names.compactMap { name -> Substring? in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + name)
        guard let target, target.hasPrefix("socket:[") else { return nil }
        return target.dropFirst(8).dropLast()
      }
      let table = (try? String(contentsOfFile: "/proc/\(id)/net/tcp", encoding: .utf8)) ?? ""
      return table.split(separator: "\n").dropFirst().contains { line in
        let fields = line.split(separator: " ")
        return fields.count > 9 && fields[3] == state && nodes.contains(fields[9])
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

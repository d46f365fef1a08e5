import Foundation
import TestSupport

extension OwnThread {
  /// Returns the number of this process's threads that have the name.
  static func count(named name: String) -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.count {
      let place = "/proc/self/task/\($0)/comm"
      return (try? String(contentsOfFile: place, encoding: .utf8)) == name + "\n"
    }
  }
}

import Foundation

struct ProcessUse {
  let threads: Int
  let descriptors: Int
  /// Resident memory in KiB.
  let memory: Int

  static func now() -> ProcessUse {
    ProcessUse(
      threads: entries("/proc/self/task"), descriptors: entries("/proc/self/fd"),
      memory: residentPages() * Int(getpagesize()) / 1024)
  }

  func since(_ earlier: ProcessUse) -> ProcessUse {
    ProcessUse(
      threads: threads - earlier.threads, descriptors: descriptors - earlier.descriptors,
      memory: memory - earlier.memory)
  }

  var words: String { "\(threads) \(descriptors) \(memory)" }

  private static func entries(_ folder: String) -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
  }

  private static func residentPages() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  }
}

internal import CSystemEpoll
internal import PusherPlatform

/// Child processes of this process: started commands and orphans.
///
/// The first process of a container and a subreaper (prctl(2)) inherit orphans and must collect
/// them. Only the program turns that on: a library must leave its caller's children alone.
package enum Children {
  private static let started = Locked<Set<Int32>>([])
  private static let collectsOrphans = Locked(false)

  package static var includeOrphans: Bool { getpid() == 1 || pusher_is_subreaper() == 1 }

  /// Makes ``collectOrphans()`` collect orphans if this process can get any; returns if it can.
  package static func adoptOrphans() -> Bool {
    let isNeeded = includeOrphans
    collectsOrphans.withLock { $0 = isNeeded }
    return isNeeded
  }

  /// Calls `start`, which returns 0 for success, and records the process as ours.
  static func starting(_ process: inout Int32, by start: (inout Int32) -> Int32) -> Int32 {
    started.withLock { started in
      let code = start(&process)
      if code == 0 { started.insert(process) }
      return code
    }
  }

  /// Calls `collect`, and forgets the command if that returns true because it had ended.
  static func collecting(_ process: Int32, _ collect: () -> Bool) -> Bool {
    started.withLock { started in
      guard collect() else { return false }
      started.remove(process)
      return true
    }
  }

  /// Collects the orphans that have ended; owners collect their own commands.
  ///
  /// The system reports one ended child at a time: one of our commands hides the others, so its
  /// owner calls this again after collecting it.
  package static func collectOrphans() {
    guard collectsOrphans.withLock({ $0 }) else { return }
    started.withLock { started in
      while true {
        let process = Syscalls.endedChild()
        guard process > 0, !started.contains(process) else { return }
        var status: Int32 = 0
        guard unsafe waitpid(process, &status, WNOHANG) == process else { return }
      }
    }
  }

  /// Returns whether a process of this group runs, from `/proc`; `nil` if that cannot be read.
  static func isRunning(inGroup group: Int32) -> Bool? {
    guard let folder = unsafe opendir("/proc") else { return nil }
    defer { unsafe closedir(folder) }
    var isAnyKnown = false
    while case let process = unsafe pusher_next_process(UnsafeMutableRawPointer(folder)),
      process > 0
    {
      guard let status = ProcessStatus(process: process) else { continue }
      isAnyKnown = true
      if status.group == group, !status.hasEnded { return true }
    }
    return isAnyKnown ? false : nil
  }
}

/// State and group of a process, from `/proc/N/stat`: `N (name) S parent group …`.
struct ProcessStatus: Equatable {
  let group: Int32
  let hasEnded: Bool
}

extension ProcessStatus {
  private static let length = 256

  init?(process: Int32) {
    let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Self.length)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    self.init(bytes[..<count])
  }

  /// Parses the text; the name may hold any byte, even spaces and parentheses.
  init?(_ text: ArraySlice<UInt8>) {
    guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 2, let state = fields[0].first,
      let group = Int32(String(decoding: fields[2], as: UTF8.self))
    else { return nil }
    self.group = group
    hasEnded = state == UInt8(ascii: "Z") || state == UInt8(ascii: "X")
  }
}

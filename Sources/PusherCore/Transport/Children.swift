internal import CSystemEpoll
internal import PusherPlatform

/// The children of this process: those it started, and orphans.
///
/// The first process of a container inherits every orphan of it, and nobody else collects them. So does a subreaper
/// (prctl(2)). Only the program turns that on: a library must leave the children of its caller alone.
package enum Children {
  /// The commands that run, or ended and were not collected.
  private static let started = Locked<Set<Int32>>([])
  private static let collectsOrphans = Locked(false)

  /// Whether orphans become children of this process.
  package static var includeOrphans: Bool { getpid() == 1 || pusher_is_subreaper() == 1 }

  /// Collects orphans from now on, whenever ``collectOrphans()`` is called, if there can be any; returns whether.
  package static func adoptOrphans() -> Bool {
    let isNeeded = includeOrphans
    collectsOrphans.withLock { $0 = isNeeded }
    return isNeeded
  }

  /// Starts a command, which is then no orphan.
  ///
  /// - Returns: What `start` returns, 0 for success.
  static func starting(_ process: inout Int32, by start: (inout Int32) -> Int32) -> Int32 {
    started.withLock { started in
      let code = start(&process)
      if code == 0 { started.insert(process) }
      return code
    }
  }

  /// Collects a command by `collect`, which returns whether it had ended.
  static func collecting(_ process: Int32, _ collect: () -> Bool) -> Bool {
    started.withLock { started in
      guard collect() else { return false }
      started.remove(process)
      return true
    }
  }

  /// Collects the orphans that have ended; ours stay for their owners.
  ///
  /// The system names one ended child, and a command of ours that is named hides the others. Its owner calls this again
  /// after it has collected it.
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

  /// Whether a process of this group runs, as `/proc` tells; `nil` where it cannot be read.
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

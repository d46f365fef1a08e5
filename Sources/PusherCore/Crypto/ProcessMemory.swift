internal import CSystemOpenSSL

/// The memory of this process, which holds secrets: whether it gets into core dumps and before debuggers of the same user.
///
/// Source: prctl(2), PR_SET_DUMPABLE; where there is none, core dumps are limited to nothing.
package enum ProcessMemory {
  /// From now on nothing is dumped or shown; commands that are started are not touched by it.
  package static func hide() {
    pusher_set_dumpable(0)
  }

  /// Runs `body` while the process may look into its own `/proc/self`, which one that is hidden may not.
  package static func whileShown<Result>(_ body: () -> Result) -> Result {
    guard pusher_get_dumpable() == 0 else { return body() }
    pusher_set_dumpable(1)
    defer { pusher_set_dumpable(0) }
    return body()
  }
}

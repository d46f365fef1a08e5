// The shim's module includes time.h too. Which module has its types depends on the files that the
// compiler takes together, so this file imports both.
internal import CSystemEpoll
internal import PusherPlatform

/// The system's clocks; the only source of time.
package enum SystemClock {
  #if !canImport(Darwin)
    private static let forward = CLOCK_BOOTTIME
  #else
    private static let forward = CLOCK_MONOTONIC
  #endif

  /// Monotonic clock, which counts sleep of the machine, so that deadlines pass during sleep.
  package static func now() -> Instant {
    var time = timespec()
    unsafe clock_gettime(forward, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }

  /// Calendar clock, which may jump.
  package static func wall() -> WallTime {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(
      millisecondsSince1970: Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000)
  }
}

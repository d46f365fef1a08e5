internal import PusherCore

/// CPU time and memory of the program itself, which show whether it was the limit.
struct ProcessMeter {
  private var cpuAtBegin = Duration.zero
  private var beganAt: Instant?
  private(set) var wall = Duration.zero
  private(set) var cpu = Duration.zero
  private let memoryAtStart = ProcessMetrics.residentBytes
  /// `nil` without sockets, and on systems that do not tell.
  private(set) var memoryPerSocket: Int?

  /// Above this share of a core, the figures say what the program can do, not the server.
  static let busyShare = 90.0

  /// Begins the measured part of a run; an earlier part no longer counts.
  mutating func begin(at now: Instant) {
    (beganAt, cpuAtBegin) = (now, ProcessMetrics.cpuTime)
    (wall, cpu) = (.zero, .zero)
  }

  mutating func end(at now: Instant) {
    guard let beganAt else { return }
    wall = beganAt.duration(to: now)
    cpu = ProcessMetrics.cpuTime - cpuAtBegin
  }

  mutating func noteMemory(sockets: Int) {
    guard sockets > 0, let before = memoryAtStart, let now = ProcessMetrics.residentBytes else {
      return
    }
    memoryPerSocket = max(now - before, 0) / sockets
  }

  /// CPU time as a share of one core, in percent; `nil` before the end of the measured part.
  var share: Double? {
    wall > .zero ? cpu.inSeconds / wall.inSeconds * 100 : nil
  }
}

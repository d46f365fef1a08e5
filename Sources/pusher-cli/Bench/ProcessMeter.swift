internal import PusherCore

/// CPU time and memory of the program itself, which show whether it was the limit.
struct ProcessMeter {
  private var cpuAtBegin = Duration.zero
  private var beganAt: Instant?
  private var wall = Duration.zero
  private var cpu = Duration.zero
  private let memoryAtStart = ProcessMetrics.privateBytes
  private var memory = 0
  private var sockets = 0

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
    guard let before = memoryAtStart, let now = ProcessMetrics.privateBytes else { return }
    (memory, self.sockets) = (max(now - before, 0), sockets)
  }

  var figures: CostFigures {
    let share = wall > .zero ? cpu.inSeconds / wall.inSeconds * 100 : nil
    return CostFigures(share: share, memory: memory, sockets: sockets)
  }
}

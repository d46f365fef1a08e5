internal import PusherCore

/// Syncs a written file to disk within a given time, for `--sync`.
final class DiskSync {
  private let output: OutputQueue
  private let interval: Duration
  private let loop: EventLoop
  private var timer: LoopTimer?
  private var synchronized = 0

  init(_ output: OutputQueue, every interval: Duration, on loop: EventLoop) {
    (self.output, self.interval, self.loop) = (output, interval, loop)
  }

  func note() {
    guard output.written != synchronized, timer == nil else { return }
    timer = loop.schedule(after: interval) { [unowned self] in finish() }
  }

  func finish() {
    if let timer { loop.remove(timer) }
    timer = nil
    guard output.written != synchronized else { return }
    synchronized = output.written
    output.synchronize()
  }
}

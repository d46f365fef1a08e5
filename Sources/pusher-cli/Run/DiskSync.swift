internal import PusherCore

/// Has what was written to a file brought to disk within a time, for `--sync`.
final class DiskSync {
  private let output: OutputQueue
  private let interval: Duration
  private let loop: EventLoop
  private var timer: LoopTimer?
  /// Up to where that was done.
  private var synchronized = 0

  init(_ output: OutputQueue, every interval: Duration, on loop: EventLoop) {
    (self.output, self.interval, self.loop) = (output, interval, loop)
  }

  /// Something may have been written.
  func note() {
    guard output.written != synchronized, timer == nil else { return }
    let timer = LoopTimer(deadline: loop.now.advanced(by: interval)) { [unowned self] in finish() }
    self.timer = timer
    loop.add(timer)
  }

  /// Brings everything to disk now.
  func finish() {
    if let timer { loop.remove(timer) }
    timer = nil
    guard output.written != synchronized else { return }
    synchronized = output.written
    output.synchronize()
  }
}

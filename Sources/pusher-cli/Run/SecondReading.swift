internal import PusherCore

/// Reads settings files on another thread, so that a slow disk delays no event, pong or signal.
///
/// Use it on the loop's thread. A request during a reading starts another reading afterwards.
final class SecondReading<Settings: Sendable> {
  typealias Answer = Result<Settings, UsageError>

  private let loop: EventLoop
  private let read: @Sendable () throws(UsageError) -> Settings
  private let completion: (Answer) -> Void
  private var open: OpenReading<Settings>?
  private var isWanted = false

  /// - Parameters:
  ///   - read: Runs on another thread.
  ///   - completion: Runs on the loop's thread.
  init(
    loop: EventLoop, read: @escaping @Sendable () throws(UsageError) -> Settings,
    completion: @escaping (Answer) -> Void
  ) {
    (self.loop, self.read, self.completion) = (loop, read, completion)
  }

  func begin() -> Bool {
    guard open == nil else {
      isWanted = true
      return false
    }
    let reading = OpenReading<Settings> { [weak self] in self?.end($0) }
    open = reading
    loop.add(reading)
    let (key, wakeUp) = (ObjectIdentifier(reading), loop.wakeUp)
    let isStarted = DetachedThread.start(name: "pusher-settings") { [read] in
      let answer = Result { () throws(UsageError) in try read() }
      wakeUp.post { ($0.source(key) as? OpenReading<Settings>)?.completion(answer) }
    }
    if !isStarted { end(.failure(UsageError("no thread to read the files on"))) }
    return true
  }

  private func end(_ answer: Answer) {
    if let open { loop.remove(open) }
    open = nil
    completion(answer)
    guard isWanted else { return }
    isWanted = false
    _ = begin()
  }
}

/// Represents the reading on the loop.
private final class OpenReading<Settings: Sendable>: LoopSource {
  let completion: (SecondReading<Settings>.Answer) -> Void

  init(completion: @escaping (SecondReading<Settings>.Answer) -> Void) {
    self.completion = completion
  }

  var interest: LoopInterest { LoopInterest() }
  func ready(_ events: PollEvents, at now: Instant) {}
  func expired(at now: Instant) {}
}

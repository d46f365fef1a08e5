internal import PusherCore

/// Reads settings files on another thread, so that a slow disk delays no event, pong or signal.
///
/// Use it on the loop's thread. A request during a reading starts another reading afterwards.
final class SettingsReload<Settings: Sendable> {
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private let words: (files: String, kept: String)
  private let isOver: () -> Bool
  private let read: @Sendable () throws(UsageError) -> Settings
  private let take: (Settings) throws -> Void
  private var open: OpenReading<Settings>?
  private var isWanted = false

  /// - Parameters:
  ///   - words: The files with their verb, and the settings that stay after a failure, in messages.
  ///   - isOver: Returns true if the run ends and needs no settings.
  ///   - read: Runs on another thread.
  ///   - take: Applies the settings on the loop's thread.
  init(
    _ words: (files: String, kept: String), loop: EventLoop, diagnostics: Diagnostics,
    isOver: @escaping () -> Bool, read: @escaping @Sendable () throws(UsageError) -> Settings,
    take: @escaping (Settings) throws -> Void
  ) {
    (self.words, self.loop, self.diagnostics) = (words, loop, diagnostics)
    (self.isOver, self.read, self.take) = (isOver, read, take)
  }

  func begin() {
    guard open == nil else {
      isWanted = true
      return diagnostics.notice(
        "SIGHUP: an earlier reading is still running; \(words.files) read again afterwards")
    }
    let reading = OpenReading<Settings> { [weak self] in self?.end($0) }
    open = reading
    loop.add(reading)
    let (key, wakeUp) = (ObjectIdentifier(reading), loop.wakeUp)
    let isStarted = DetachedThread.start(name: "pusher-settings") { [read] in
      let answer = Result { () throws(UsageError) in try read() }
      wakeUp.post { ($0.source(key) as? OpenReading<Settings>)?.completion(answer) }
    }
    if !isStarted { end(.failure(UsageError("cannot start a thread to read the files"))) }
  }

  /// Reports that the former settings stay.
  func reject(_ reason: String) {
    diagnostics.warning("SIGHUP: \(reason); \(words.kept) stay as they are")
  }

  private func end(_ answer: Result<Settings, UsageError>) {
    if let open { loop.remove(open) }
    open = nil
    if !isOver() { finish(answer) }
    guard isWanted else { return }
    isWanted = false
    begin()
  }

  private func finish(_ answer: Result<Settings, UsageError>) {
    do {
      try take(try answer.get())
    } catch let error as UsageError {
      reject(error.message)
    } catch {
      reject("\(error)")
    }
  }
}

/// Represents the reading on the loop.
private final class OpenReading<Settings: Sendable>: LoopSource {
  let completion: (Result<Settings, UsageError>) -> Void

  init(completion: @escaping (Result<Settings, UsageError>) -> Void) {
    self.completion = completion
  }

  var interest: LoopInterest { LoopInterest() }
  func ready(_ events: PollEvents, at now: Instant) {}
  func expired(at now: Instant) {}
}

internal import PusherCore

/// Keeps the state file up with the output: what the system has taken is saved within a second, and at each end.
///
/// Saved is the id of the last event of which every byte was taken, never of one that waits or that a failure cut. A
/// save that fails is tried again.
final class StateKeeper: LoopSource {
  private let file: StateFile
  private let progress: any Progress
  private let clock: () -> Instant
  private let diagnostics: Diagnostics
  private let ids: PrintedIDs
  /// The content to save.
  private var wanted: [UInt8]
  private var savedAt: Instant?
  private var deadline: Instant?
  private var isFailing = false
  private var hasObjected = false

  /// Less than the second that is promised, since writing takes time too.
  private static let interval: Duration = .milliseconds(500)

  /// - Parameters:
  ///   - id: The id with which the run begins.
  ///   - limit: How many bytes may be taken by ids that wait for their events to be written.
  init(
    _ file: StateFile, progress: any Progress, startingAfter id: String, limit: Int,
    diagnostics: Diagnostics, clock: @escaping () -> Instant
  ) {
    self.file = file
    self.progress = progress
    self.clock = clock
    self.diagnostics = diagnostics
    ids = PrintedIDs(after: id, limit: limit)
    // The stream stands there, also when no event comes.
    wanted = StateRecord.objection(to: Array(id.utf8)) == nil ? Array(id.utf8) : file.id
  }

  /// What was printed so far brings the stream to this id.
  func note(_ id: ByteView) {
    guard !progress.hasFailed else { return }
    ids.note(id, at: progress.end)
  }

  /// After a write: saves when it is time, or sets the time for it.
  func update() {
    collect()
    guard wanted != file.id else { return }
    let now = clock()
    let due = deadline ?? savedAt.map { $0.advanced(by: Self.interval) } ?? now
    if due <= now { save(at: now) } else { deadline = due }
  }

  /// Saves now.
  func finish() {
    collect()
    if wanted != file.id { save(at: clock()) }
  }

  /// Reports at the end if the file is out of date.
  func conclude() {
    finish()
    if isFailing {
      diagnostics.error("the last event's id was not kept: the next run prints some events again")
    }
  }

  private func collect() {
    wanted = ids.take(through: progress.written, where: canBeKept) ?? wanted
  }

  private func canBeKept(_ id: [UInt8]) -> Bool {
    guard let objection = StateRecord.objection(to: id) else { return true }
    if !hasObjected {
      diagnostics.warning(
        "an event's id cannot be kept in the state file: \(objection); it stays at the one before")
    }
    hasObjected = true
    return false
  }

  private func save(at now: Instant) {
    savedAt = now
    deadline = nil
    // Else a power cut could leave events that the file counts as printed and the disk has not.
    progress.synchronize()
    guard let reason = file.save(wanted) else {
      if isFailing { diagnostics.info("the last event's id is kept again") }
      isFailing = false
      return
    }
    deadline = now.advanced(by: Self.interval)
    if !isFailing {
      diagnostics.warning("cannot keep the last event's id: \(reason); it is tried again")
    }
    isFailing = true
  }

  var interest: LoopInterest { LoopInterest(deadline: deadline) }

  func ready(_ events: PollEvents, at now: Instant) {}

  func expired(at now: Instant) {
    collect()
    if wanted == file.id { deadline = nil } else { save(at: now) }
  }
}

internal import PusherCore

/// Saves the place after the last written event in the state file, within a second and at the end.
///
/// Only completely written events count. A failed save is retried.
final class StateKeeper: LoopSource {
  private let file: StateFile
  private let progress: any Progress
  private let clock: () -> Instant
  private let diagnostics: Diagnostics
  private let ids: PrintedIDs
  private var positions = PrintedPositions()
  private var wanted: StatePlace
  private var hasNewPositions = false
  private var savedAt: Instant?
  private var deadline: Instant?
  private var isFailing = false
  private var hasObjected = false

  /// Less than the promised second, because writing takes time too.
  private static let interval: Duration = .milliseconds(500)
  /// Saves take at most a twentieth of the time, so that a kill finds few events unsaved.
  private var pause = StateKeeper.interval

  /// - Parameters:
  ///   - id: The first id of the run.
  ///   - limit: Maximum size of the ids of unwritten events, in bytes.
  init(
    _ file: StateFile, progress: any Progress, startingAfter id: String, limit: Int,
    diagnostics: Diagnostics, clock: @escaping () -> Instant
  ) {
    (self.file, self.progress, self.clock, self.diagnostics) = (file, progress, clock, diagnostics)
    ids = PrintedIDs(after: id, limit: limit)
    // The stream begins at this id, even if no event comes.
    wanted = file.place
    if EventID.objection(to: id.utf8) == nil { wanted.id = Array(id.utf8) }
  }

  /// Notes the stream's id after the events printed so far.
  func note(_ id: ByteView) {
    guard !progress.hasFailed, ids.isNew(id) else { return }
    if let objection = EventID.objection(to: id) { return object(objection) }
    ids.note(id, at: progress.end)
  }

  /// Notes the position of a channel after the events printed so far.
  func note(_ position: StreamPosition, of channel: String) {
    if !progress.hasFailed { positions.note(position, of: channel) }
  }

  private var hasNews: Bool { hasNewPositions || wanted.id != file.place.id }

  /// Saves if it is time, or schedules a save; called after writes.
  func update() {
    collect()
    guard hasNews else { return }
    let now = clock()
    let due = deadline ?? savedAt.map { $0.advanced(by: pause) } ?? now
    if due <= now { save(at: now) } else { deadline = due }
  }

  func finish() {
    collect()
    if hasNews { save(at: clock()) }
  }

  /// Saves at the end, and reports a failure.
  func conclude() {
    finish()
    if isFailing {
      diagnostics.error("the last event's id was not saved: the next run prints some events again")
    }
  }

  private func collect() {
    wanted.id = ids.take(through: progress.written) ?? wanted.id
    positions.endRound(at: progress.end)
    if positions.take(through: progress.written, into: &wanted.positions) { hasNewPositions = true }
  }

  private func object(_ objection: String) {
    guard !hasObjected else { return }
    hasObjected = true
    diagnostics.warning(
      "cannot save an event's id in the state file: it \(objection); keeping the previous id")
  }

  private func save(at now: Instant) {
    savedAt = now
    deadline = nil
    let begun = SystemClock.now()
    defer {
      let cost = begun.duration(to: SystemClock.now())
      pause = min(Self.interval, max(.milliseconds(20), cost * 20))
    }
    // Otherwise, after a power cut the file could count events that are not on disk.
    progress.synchronize()
    guard let reason = file.save(wanted) else {
      if isFailing { diagnostics.info("saving the last event's id works again") }
      (isFailing, hasNewPositions) = (false, false)
      return
    }
    deadline = now.advanced(by: Self.interval)
    if !isFailing {
      diagnostics.warning("cannot save the last event's id: \(reason); retrying")
    }
    isFailing = true
  }

  var interest: LoopInterest { LoopInterest(deadline: deadline) }
  func expired(at now: Instant) {
    collect()
    if hasNews { save(at: now) } else { deadline = nil }
  }
}

/// Remembers the output position of each round's channels, to save their positions after its bytes
/// are written.
struct PrintedPositions {
  private typealias Round = OrderedTable<StreamPosition>

  private var round = Round()
  private var rounds = Fifo<(end: Int, positions: Round)>()

  mutating func note(_ position: StreamPosition, of channel: String) { round[channel] = position }

  /// Ends the round; its events end at `place`, in bytes from the start of the output.
  mutating func endRound(at place: Int) {
    guard round.count > 0 else { return }
    rounds.append((place, round))
    round = Round()
  }

  /// Adds the positions of the rounds that end by `written`; returns whether there are any.
  mutating func take(
    through written: Int, into positions: inout OrderedTable<StreamPosition>
  ) -> Bool {
    var isAny = false
    while let first = rounds.first, first.end <= written {
      for (channel, position) in first.positions.elements { positions[channel] = position }
      _ = rounds.popFirst()
      isAny = true
    }
    return isAny
  }
}

/// Remembers the output position of each event's ID, to save the ID after its bytes are written.
final class PrintedIDs {
  private typealias Mark = (end: Int, id: [UInt8])

  private var marks = Fifo<Mark>()
  /// The mark after those; the next one replaces it above the limit, as for a stalled reader.
  private var latest: Mark?
  /// ID of the last mark, kept after the mark is removed.
  private var last: [UInt8]
  private var size = 0
  private let limit: Int
  private static let headSize = 12

  /// The first event follows the event `id`.
  ///
  /// Above `limit` bytes of waiting marks, IDs are saved later, but never ahead of the output.
  init(after id: String, limit: Int) { (last, self.limit) = (Array(id.utf8), limit) }

  /// Notes that the event with this ID ends at `place`, in bytes from the start of the output.
  func note(_ id: ByteView, at place: Int) {
    guard isNew(id) else { return }
    last = id.array
    if let latest, size <= limit {
      marks.append(latest)
      size += latest.id.count + Self.headSize
    }
    latest = (place, last)
  }

  /// Returns the ID of the last event that ends by `written`; `nil` if there is no new one.
  func take(through written: Int) -> [UInt8]? {
    var found: [UInt8]?
    while let mark = marks.first, mark.end <= written {
      found = marks.popFirst()?.id
      size -= mark.id.count + Self.headSize
    }
    if marks.isEmpty, let mark = latest, mark.end <= written {
      found = mark.id
      latest = nil
    }
    return found
  }

  /// Returns whether this ID differs from the last noted one.
  func isNew(_ id: ByteView) -> Bool { !id.equals(last) }
}

/// The events that a run waits for; one of them is enough.
struct RunWishes: Equatable, Sendable {
  /// Number of events of `--count`.
  var count: Int?
  /// Text or pattern of `--until`.
  var untilData: String?
  /// Patterns of `--until-event`.
  var untilEvents: [String] = []

  /// True if the run waits for nothing: it ends with its stream or its time.
  var areNone: Bool { count == nil && !awaitEvent }
  /// True if the run waits for a particular event.
  var awaitEvent: Bool { untilData != nil || !untilEvents.isEmpty }
}

/// A step of a run, ordered from a worker; a JSON line to it.
enum WorkerOrder: Equatable, Codable {
  case open(at: Nanoseconds)
  case settle
  case cut
  case count
  case begin(at: Nanoseconds, receivers: [Int])
  case stop
  case judge([EventSet])
  case finish
}

/// News of a worker; a JSON line from it.
enum WorkerReport: Equatable, Codable {
  case state(PartState)
  /// The answer to ``WorkerOrder/count``.
  case receivers([Int])
  /// The delays of a second that has ended.
  case second(Int, delays: DelayHistogram)
  /// The answer to ``WorkerOrder/stop``.
  case accepted([EventSet])
  /// The answer to ``WorkerOrder/finish``, and the last line.
  case figures(PartFigures)
}

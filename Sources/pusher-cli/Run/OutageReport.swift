/// Which failures are reported: the first one of a receiver, and that it works again.
///
/// Further failures say nothing new, nor does a success while the reported event still fails.
struct OutageReport {
  /// Whether a failure was reported, and nothing delivered since.
  private var isOut = false
  /// The reported events that still fail, by number.
  private var told: Set<Int> = []

  /// An event has failed for the first time; returns whether to report it.
  mutating func began(_ event: Int) -> Bool {
    guard !isOut else { return false }
    isOut = true
    told.insert(event)
    return true
  }

  /// An event was delivered; returns whether to report it.
  mutating func delivered(_ event: Int) -> Bool {
    defer { isOut = false }
    return told.remove(event) != nil || isOut && told.isEmpty
  }

  /// An event was given up, which is reported in any case.
  mutating func gaveUp(_ event: Int) {
    told.remove(event)
  }
}

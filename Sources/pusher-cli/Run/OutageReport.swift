/// Decides which failures of a receiver are reported: the first, and the recovery.
///
/// Further failures say nothing new, nor does a success while the reported event still fails.
struct OutageReport {
  /// True after a reported failure, until the next delivery.
  private var isOut = false
  private var told: Set<Int> = []

  /// Handles the first failure of an event; returns whether to report it.
  mutating func began(_ event: Int) -> Bool {
    guard !isOut else { return false }
    isOut = true
    told.insert(event)
    return true
  }

  /// Handles a delivery; returns whether to report it.
  mutating func delivered(_ event: Int) -> Bool {
    defer { isOut = false }
    return told.remove(event) != nil || isOut && told.isEmpty
  }

  /// Handles an event that was given up, which is always reported.
  mutating func gaveUp(_ event: Int) { told.remove(event) }
}

internal import Synchronization

/// Whether somebody looks on, who is to be told what only webhooks tell otherwise.
///
/// Any thread may use it.
package final class Watch: Sendable {
  private let count = Atomic(0)

  /// How many do.
  var watchers: Int {
    get { count.load(ordering: .relaxed) }
    set { count.store(newValue, ordering: .relaxed) }
  }

  var isWatched: Bool { watchers > 0 }
}

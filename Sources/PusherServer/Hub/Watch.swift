internal import Synchronization

/// Number of observers.
///
/// Observers get notices that otherwise only webhooks get. Any thread may use it.
package final class Watch: Sendable {
  private let count = Atomic(0)

  var watchers: Int {
    get { count.load(ordering: .relaxed) }
    set { count.store(newValue, ordering: .relaxed) }
  }

  var isWatched: Bool { watchers > 0 }
}

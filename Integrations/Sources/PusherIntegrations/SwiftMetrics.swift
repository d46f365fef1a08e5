public import Metrics
public import PusherCore

/// Adds a client's counts to counters of swift-metrics, such as `pusher_events_total`.
///
/// All counters exist from the start, so that a monitoring system sees their zeros.
public struct SwiftMetrics: PusherMetrics {
  private let counters: [PusherCount: Counter]

  /// Creates the counters; `dimensions` tell several clients of a program apart.
  public init(
    dimensions: [(String, String)] = [], factory: any MetricsFactory = MetricsSystem.factory
  ) {
    counters = Dictionary(
      uniqueKeysWithValues: PusherCount.allCases.map { what in
        let label = "pusher_\(what.rawValue)"
        return (what, Counter(label: label, dimensions: dimensions, factory: factory))
      })
  }

  /// Adds to the counter of the same name.
  public func count(_ what: PusherCount, by amount: Int) { counters[what]?.increment(by: amount) }
}

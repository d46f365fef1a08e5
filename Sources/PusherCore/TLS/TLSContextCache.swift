/// The TLS contexts of one loop's clients: those with the same settings share one, for as long as any of them has it.
///
/// It belongs to one thread. A context that nobody has any more is forgotten, so that the files it was made of are read
/// again for the next.
package final class TLSContextCache {
  private struct Entry {
    let configuration: TLSConfiguration
    let environment: TLSEnvironment
    weak var context: TLSContext?
  }

  private var entries: [Entry] = []

  /// How many contexts are shared at the moment.
  package var count: Int { entries.count { $0.context != nil } }

  package init() {}

  /// The context for connections that we open with these settings: one that somebody has, else a new one.
  ///
  /// Errors are those of ``TLSContext/client(_:environment:)``.
  package func client(
    _ configuration: TLSConfiguration, environment: TLSEnvironment = TLSEnvironment()
  ) throws(TLSError) -> TLSContext {
    entries.removeAll { $0.context == nil }
    let known = entries.first {
      $0.configuration == configuration && $0.environment == environment
    }
    if let context = known?.context { return context }
    let context = try TLSContext.client(configuration, environment: environment)
    entries.append(Entry(configuration: configuration, environment: environment, context: context))
    return context
  }
}

/// TLS contexts of one loop's clients, shared by equal settings while in use.
///
/// An unused context is dropped, so that the next client reads its files again.
package final class TLSContextCache {
  private struct Entry {
    let configuration: TLSConfiguration
    let environment: TLSEnvironment
    weak var context: TLSContext?
  }

  private var entries: [Entry] = []

  package var count: Int { entries.count { $0.context != nil } }

  package init() {}

  /// Returns the context for these settings: one in use, else a new one.
  package func client(
    _ configuration: TLSConfiguration, environment: TLSEnvironment = TLSEnvironment()
  ) throws(TLSError) -> TLSContext {
    entries.removeAll { $0.context == nil }
    let known = entries.first { $0.configuration == configuration && $0.environment == environment }
    if let context = known?.context { return context }
    let context = try TLSContext.client(configuration, environment: environment)
    entries.append(Entry(configuration: configuration, environment: environment, context: context))
    return context
  }
}

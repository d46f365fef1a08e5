internal import PusherPlatform

/// TLS contexts of one loop's clients, shared by equal settings with equal files while in use.
package final class TLSContextCache {
  private struct Entry {
    let configuration: TLSConfiguration
    let environment: TLSEnvironment
    let marks: [FileMark?]
    weak var context: TLSContext?
  }

  /// Facts about a file; one of them changes if the file is replaced or written.
  private struct FileMark: Equatable {
    let (device, number, size): (UInt64, UInt64, Int64)
    let (seconds, nanoseconds): (Int, Int)
  }

  private var entries: [Entry] = []

  package var count: Int { entries.count { $0.context != nil } }

  package init() {}

  /// Returns the context for these settings: one in use, else a new one.
  ///
  /// A changed file makes a new context, so each connection has the present certificates.
  package func client(
    _ configuration: TLSConfiguration, environment: TLSEnvironment = TLSEnvironment()
  ) throws(TLSError) -> TLSContext {
    entries.removeAll { $0.context == nil }
    let marks = Self.marks(of: configuration)
    let known = entries.first {
      $0.configuration == configuration && $0.environment == environment && $0.marks == marks
    }
    if let context = known?.context { return context }
    let context = try TLSContext.client(configuration, environment: environment)
    entries.append(
      Entry(
        configuration: configuration, environment: environment, marks: marks, context: context))
    return context
  }

  /// A text that is kept cannot change.
  private static func marks(of configuration: TLSConfiguration) -> [FileMark?] {
    [configuration.caFile, configuration.certificateFile, configuration.keyFile].map { path in
      var status = stat()
      guard let path, configuration.kept[path] == nil, unsafe stat(path, &status) == 0 else {
        return nil
      }
      #if canImport(Darwin)
        let changed = status.st_ctimespec
      #else
        let changed = status.st_ctim
      #endif
      return FileMark(
        device: UInt64(bitPattern: Int64(status.st_dev)), number: UInt64(status.st_ino),
        size: Int64(status.st_size), seconds: Int(changed.tv_sec), nanoseconds: changed.tv_nsec)
    }
  }
}

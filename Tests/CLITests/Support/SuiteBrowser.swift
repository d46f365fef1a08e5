import Testing

/// One driven browser for all tests of a suite, started on first use; it ends with the suite.
///
/// The suite must be serialized because a browser belongs to one thread at a time.
struct SuiteBrowser: SuiteTrait, TestScoping {
  @TaskLocal private static var place: Place?

  // Sendable because its tests run one after the other.
  private final class Place: @unchecked Sendable {
    var browser: DevToolsBrowser?
  }

  /// Called once for the suite because the trait is not recursive.
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Self.$place.withValue(Place()) { try await function() }
  }

  /// Returns the suite's browser, or a new one if the last has ended.
  static func current() throws -> DevToolsBrowser {
    if let browser = place?.browser, (try? browser.call("Browser.getVersion")) != nil {
      return browser
    }
    let browser = try DevToolsBrowser()
    place?.browser = browser
    return browser
  }
}

extension Trait where Self == SuiteBrowser {
  /// Gives a serialized suite one browser for all its tests.
  static var sharesBrowser: Self { SuiteBrowser() }
}

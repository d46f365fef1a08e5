import Testing

/// One driven browser for all tests of a suite, started by the first that asks; it ends with the suite.
///
/// The tests of the suite must be serialized, since a browser belongs to one thread at a time.
struct SuiteBrowser: SuiteTrait, TestScoping {
  @TaskLocal private static var place: Place?

  // Sendable because the tests that use it come one after the other.
  private final class Place: @unchecked Sendable {
    var browser: DevToolsBrowser?
  }

  /// Called once for the suite, since the trait is not that of its tests.
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Self.$place.withValue(Place()) { try await function() }
  }

  /// The browser of the suite; a new one where the last has ended.
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
  /// For serialized suites whose tests open pages: one browser for all of them.
  static var sharesBrowser: Self { SuiteBrowser() }
}

import Testing

/// Runs all tests; without it, a build would index all sources to look for tests of XCTest.
@main struct AllTests {
  static func main() async {
    guard !CommandLine.arguments.contains("xctest") else { return }
    await __swiftPMEntryPoint() as Never
  }
}

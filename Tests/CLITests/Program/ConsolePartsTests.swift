import Foundation
import Testing

/// Tests of `Tests/ConsolePage`, for the parts of the page that need no document.
@Suite(
  "Console page: parts without a document",
  .enabled(
    if: FileManager.default.isExecutableFile(atPath: "/usr/bin/node"),
    "no node: scripts/install-packages.sh browser installs it"), .runsPrograms)
struct ConsolePartsTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "ConsolePage")

  private static let files =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".test.mjs") }.sorted()

  @Test(arguments: files)
  func `globs, filters, bursts, rates and addresses pass their tests`(file: String) throws {
    let result = try PusherCLI.tool([
      "/usr/bin/node", "--test", Self.folder.appending(path: file).path,
    ])
    result.expect()
    // A file without tests passes too.
    #expect(!result.outputText.contains("tests 0\n"), "\(result.outputText)")
  }

  @Test func `there are files of tests for the page's parts`() { #expect(Self.files.count >= 6) }
}

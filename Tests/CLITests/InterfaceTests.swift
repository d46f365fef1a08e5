import Foundation
import Testing

@testable import pusher_cli

/// The promise of docs/stability.md: the library's public declarations, and the version.
@Suite(.runsProgramsFirst) struct `What a release promises` {
  private static let modules = URL(filePath: PusherCLI.path).deletingLastPathComponent()
    .appending(path: "Modules").path
  private static let script = Documentation.folder + "/scripts/interface.py"

  @Test func `the public interface is the one in Tests/interface`() throws {
    let result = try PusherCLI.tool([Self.script, Self.modules])
    #expect(result.ending == .exited(0), "\(result.outputText)\(result.errorText)")
  }

  @Test func `a declaration that goes or comes is named, with what to do`() throws {
    let folder = TemporaryFolder.shared.file("interface")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.copyItem(
      atPath: Documentation.folder + "/Tests/interface", toPath: folder)
    let file = folder + "/PusherTesting.txt"
    var lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    let gone = lines.removeFirst()
    lines.append("PusherTestServer.formerly(): func formerly()")
    try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
    let result = try PusherCLI.tool([Self.script, Self.modules, folder])
    #expect(result.ending == .exited(1))
    #expect(result.outputText.contains("+\(gone)\n"))
    #expect(result.outputText.contains("-PusherTestServer.formerly(): func formerly()\n"))
    #expect(result.errorText.contains("CHANGELOG.md") && result.errorText.contains("--write"))
  }

  @Test func `the changelog begins with the version of the program`() throws {
    let changes = try Documentation.text("CHANGELOG.md")
    let first = changes.split(separator: "\n").first { $0.hasPrefix("## ") }
    #expect(first == "## \(Version.current)" || first == "## Unreleased")
    #expect(changes.contains("\n## \(Version.current)\n"))
  }
}

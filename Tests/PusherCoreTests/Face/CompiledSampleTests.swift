import Foundation
import TestSupport
import Testing

/// Type-checks samples against the library as it was built for the tests.
private enum SampleCompiler {
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Returns the errors and warnings of each source, all of which are one module.
  static func diagnostics(of sources: [String]) throws -> [[String]] {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let imports = """
      import Foundation
      #if canImport(FoundationNetworking)
        import FoundationNetworking
      #endif
      import PusherCore

      """
    var names: [String] = []
    for (number, source) in sources.enumerated() {
      names.append("sample\(number).swift")
      try Data((imports + source).utf8).write(to: folder.appending(path: names[number]))
    }
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let built = URL(filePath: tests).deletingLastPathComponent()
    let places =
      [built.appending(path: "Modules")]
      + ["Epoll", "OpenSSL", "Vectors", "Zlib", "Sodium"].map {
        root.appending(path: "Sources/CSystem\($0)")
      }
    let words =
      [
        "env", "-C", folder.path,
        "swiftc", "-typecheck", "-wmo", "-parse-as-library", "-swift-version", "6", "-module-name",
        "Samples",
        // The compiler's own place for it is in the home directory, which may be read-only.
        "-module-cache-path", built.appending(path: "ModuleCache").path,
      ]
      + places.flatMap { ["-I", $0.path] } + names
    let text = try Spawn.text(of: words, fromErrors: true)
    let lines = text.split(separator: "\n").filter {
      $0.contains(": error: ") || $0.contains(": warning: ")
    }
    // A diagnostic outside the samples means that nothing was checked.
    for line in lines where !names.contains(where: line.hasPrefix) { Issue.record("\(line)") }
    return names.map { name in lines.filter { $0.hasPrefix(name + ":") }.map(String.init) }
  }
}

struct `What the compiler says of handlers and delegates` {
  @Test func `a delegate that nobody else holds is a warning`() throws {
    let found = try SampleCompiler.diagnostics(of: [
      "final class D: PusherDelegate {}\nfunc a(_ p: Pusher) { p.delegate = D() }",
      "final class E: PusherDelegate {}\nfunc b(_ p: Pusher) { p.connection.delegate = E() }",
      "final class F: PusherDelegate {}\nfunc c(_ p: Pusher, _ f: F) { p.delegate = f }",
    ])
    for lines in found.prefix(2) {
      #expect(
        lines.contains {
          $0.contains("will be immediately deallocated because property 'delegate'")
        })
    }
    #expect(found.last == [])
  }

  @Test func `handlers with and without a type find the one function that is meant`() throws {
    let found = try SampleCompiler.diagnostics(of: [
      """
      func d(_ pusher: Pusher, _ channel: PusherChannel) {
        channel.bind(eventName: "e", callback: { (data: Any?) -> Void in _ = data as? [String: AnyObject] })
        channel.bind(eventName: "e", callback: { data in _ = data?["price"]?.text })
        channel.bind(eventName: "e", callback: { data in print("Subscribed!") })
        channel.bind(eventName: "e") { (data: Any?) in _ = data as? [String: Any] }
        channel.bind(eventName: "e") { event in _ = event.channelName }
        channel.bind(eventName: "e") { event in print(event) }
        channel.bind(eventName: "e") { print($0.eventName) }
        channel.bind { event in print(event.eventName) }
        pusher.bind({ (message: Any?) in _ = message as? [String: AnyObject] })
        pusher.bind(callback: { (message: Any?) in _ = message as? [String: AnyObject] })
        pusher.bind(callback: { message in _ = message?["event"] })
        pusher.bind { (message: Any?) in _ = message as? [String: AnyObject] }
        pusher.bind { event in print(event.eventName) }
        pusher.bind(eventName: "e") { event in print(event.eventName) }
      }
      """
    ])
    #expect(found == [[]])
  }
}

/// The page for users of PusherSwift says what compiles unchanged and what does not.
struct `The page for users of PusherSwift` {
  private static let page: String = {
    let place = SampleCompiler.root.appending(
      path: "Sources/PusherCore/PusherCore.docc/ForPusherSwiftUsers.md")
    return (try? String(contentsOf: place, encoding: .utf8)) ?? ""
  }()

  private static func section(_ title: String) throws -> String {
    let rest = try #require(page.components(separatedBy: "### \(title)\n").dropFirst().first)
    return rest.components(separatedBy: "\n### ")[0]
  }

  /// Rows of a table without its head, each with its cells.
  private static func rows(_ text: String) -> [[String]] {
    text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
      line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
    }
  }

  private static func code(_ cell: String) -> String? {
    let parts = cell.components(separatedBy: "`")
    return parts.count >= 3 && parts[0].isEmpty ? parts[1] : nil
  }

  private static func function(_ number: Int, _ body: String) -> String {
    """
    func sample\(number)(
      _ pusher: Pusher, _ channel: PusherChannel, _ room: PusherPresenceChannel,
      _ event: PusherEvent, _ options: PusherClientOptions
    ) throws {
      \(body)
    }
    """
  }

  @Test func `the block of names that PusherSwift has too compiles`() throws {
    let text = try Self.section("What compiles unchanged")
    let block = try #require(text.components(separatedBy: "```swift\n").dropFirst().first)
    let source = block.components(separatedBy: "\n```")[0]
    let found = try SampleCompiler.diagnostics(of: ["func unchanged() {\n\(source)\n}"])
    #expect(found == [[]])
  }

  @Test func `each line in the table does not compile, and its replacement does`() throws {
    let rows = Self.rows(try Self.section("What does not compile, and what to write"))
    #expect(rows.count > 15)
    var samples: [(text: String, compiles: Bool)] = []
    for row in rows {
      samples.append((try #require(Self.code(row[0])), false))
      if row.count > 1, let code = Self.code(row[1]) { samples.append((code, true)) }
    }
    #expect(samples.count(where: \.compiles) > 10)
    let found = try SampleCompiler.diagnostics(
      of: samples.enumerated().map { Self.function($0, $1.text) })
    for (sample, lines) in zip(samples, found) {
      let errors = lines.filter { $0.contains(": error: ") }
      #expect(errors.isEmpty == sample.compiles, "\(sample.text): \(errors)")
    }
  }
}

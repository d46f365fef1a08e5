import Foundation
import Testing

@Suite("Tidy: the rules of CONTRIBUTING.md, read from the sources")
struct TidyTests {
  @Test func `the sources keep every rule`() throws {
    let sources = try Self.repositorySources()
    #expect(sources.count > 5)
    let findings = TidyRules.findings(in: sources)
    #expect(findings.isEmpty, "\(findings.map(\.description).joined(separator: "\n"))")
  }

  private static func repositorySources() throws -> [TidySource] {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let folder = root.appending(path: "Sources")
    let files = try #require(FileManager.default.enumerator(atPath: folder.path))
    return try files.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map {
      try TidySource(
        "Sources/\($0)", String(contentsOf: folder.appending(path: $0), encoding: .utf8))
    }
  }
}

@Suite("Tidy: imports, clocks and calls")
struct TidyCallTests {
  @Test(arguments: [
    ("Sources/PusherCore/HTTP/A.swift", "import Foundation"),
    ("Sources/pusher-cli/A.swift", "internal import Foundation"),
    ("Sources/pusher-cli/Commands/A.swift", "internal import CProgram"),
    ("Sources/PusherCore/Transport/A.swift", "import Dispatch"),
    ("Sources/PusherCore/HTTP/A.swift", "internal import CSystemOpenSSL"),
    ("Sources/PusherCore/Channels/A.swift", "internal import CSystemVectors"),
    ("Sources/PusherCore/Transport/A.swift", "internal import CSystemZlib"),
    ("Sources/PusherCore/TLS/A.swift", "internal import CSystemSodium"),
    ("Sources/PusherCore/Face/A.swift", "#if canImport(Glibc)\ninternal import Glibc\n#endif"),
    ("Sources/PusherServer/A.swift", "import struct Darwin.timespec"),
    ("Sources/PusherCore/Transport/A.swift", "internal import Glibc"),
    ("Sources/PusherServer/Hub/A.swift", "internal import CSystemHiredis"),
    ("Sources/PusherServer/Hub/A.swift", "internal import PusherCluster"),
    ("Sources/PusherServer/Server/A.swift", "internal import PusherConsole"),
    ("Sources/PusherTesting/Server/A.swift", "internal import PusherConsole"),
    ("Sources/PusherCluster/Member/A.swift", "internal import CSystemHiredis"),
    ("Sources/PusherCore/API/A.swift", "import PusherServer"),
  ])
  func `an import outside its fence is refused`(path: String, text: String) {
    #expect(TidyRules.imports(TidySource(path, text)).count == 1)
  }

  @Test(arguments: [
    ("Sources/PusherCore/Crypto/A.swift", "internal import CSystemOpenSSL"),
    ("Sources/PusherCore/Crypto/A.swift", "internal import CSystemSodium"),
    ("Sources/PusherCore/TLS/A.swift", "internal import CSystemOpenSSL"),
    ("Sources/PusherCore/Compression/A.swift", "internal import CSystemZlib"),
    ("Sources/PusherCore/JSON/A.swift", "internal import CSystemVectors"),
    ("Sources/PusherCore/Transport/A.swift", "internal import PusherPlatform"),
    ("Sources/pusher-cli/A.swift", "internal import PusherPlatform\ninternal import PusherCore"),
    ("Sources/pusher-cli/Run/A.swift", "internal import CProgram"),
    ("Sources/PusherServer/A.swift", "internal import PusherCore"),
    ("Sources/PusherCluster/Redis/A.swift", "internal import CSystemHiredis"),
  ])
  func `an import inside its fence is fine`(path: String, text: String) {
    #expect(TidyRules.imports(TidySource(path, text)).isEmpty)
  }

  @Test(arguments: [
    "var generator = SystemRandomNumberGenerator()", "let n = Int.random(in: 0..<4)",
    "let clock = ContinuousClock()", "let now = Date.now()", "clock_gettime(id, &time)",
    "try await Task.sleep(for: .seconds(1))", "sleep(1)", "let c = cards.shuffled()",
  ])
  func `a clock or a random number is refused outside Transport and Crypto`(text: String) {
    let findings = ["Channels", "Transport", "Crypto"].map { room in
      let source = TidySource("Sources/PusherCore/\(room)/A.swift", text)
      return TidyRules.clocksAndRandomness(source).count
    }
    #expect(findings == [1, 0, 0])
  }

  @Test(arguments: [
    "let delay = backoff.next(using: &random)", "let t = SystemClock.now()", "let at = loop.now",
    "// ContinuousClock is refused",
  ])
  func `time and randomness from an argument are fine`(text: String) {
    let source = TidySource("Sources/PusherCore/Face/A.swift", text)
    #expect(TidyRules.clocksAndRandomness(source).isEmpty)
  }

  @Test(arguments: [
    "print(line)", "let a = try! f()", "let b = c as! D", "default: fatalError()",
  ])
  func `a call that ends the program or prints is refused`(text: String) {
    #expect(TidyRules.refusedCalls(TidySource("Sources/pusher-cli/A.swift", text)).count == 1)
  }

  @Test(arguments: [
    "try !f()", "x.print(line)", "func print(_ a: Int) { print(1) }", "\"print(a)\"",
  ])
  func `what only looks like such a call is fine`(text: String) {
    #expect(TidyRules.refusedCalls(TidySource("Sources/pusher-cli/A.swift", text)).isEmpty)
  }

  @Test(arguments: ["// TODO: later", "let a = 1  // FIXME", "/// XXX"])
  func `unfinished work is refused`(text: String) {
    #expect(TidyRules.unfinishedWork(TidySource("Sources/pusher-cli/A.swift", text)).count == 1)
  }
}

@Suite("Tidy: the length of files and functions")
struct TidyLengthTests {
  private func source(_ text: String) -> TidySource {
    TidySource("Sources/pusher-cli/A.swift", text)
  }

  @Test(arguments: [
    #"if text.contains("ignature") {"#, #"text.split(separator: "\r\n").map {"#,
    #"let at = text.lastIndex(of: "@")"#, #"text.replacing("ab", with: "c")"#,
    #"for r in text.ranges(of: x) {"#, #"let end = text.lastIndex { $0 == "]" }"#,
  ])
  func `a search in text by grapheme clusters is refused`(text: String) {
    #expect(
      TidyRules.slowSearches(TidySource("Sources/PusherCore/Channels/A.swift", text)).count == 1)
  }

  @Test(arguments: [
    #"if text.holds("ignature") {"#, #"text.split(separator: "\n")"#, #"text.contains(":")"#,
    #"let at = text.utf8.lastIndex(of: UInt8(ascii: "@"))"#, #"// text.contains("word")"#,
    #"options.contains(where: { $0 == "close" })"#,
  ])
  func `a search in bytes, and for one character, is fine`(text: String) {
    #expect(TidyRules.slowSearches(TidySource("Sources/PusherCore/Channels/A.swift", text)).isEmpty)
  }

  @Test func `a file has 400 lines at most`() {
    #expect(TidyRules.longFile(source(String(repeating: "a\n", count: 400))).isEmpty)
    #expect(TidyRules.longFile(source(String(repeating: "a\n", count: 401))).map(\.line) == [401])
  }

  @Test(arguments: [
    "func f(then: () -> Void = { }) -> [Int] {", "init?<T>(_ t: T) where T: P {",
    "subscript(index: Int) -> Int {", "deinit {", "func f() throws(E) -> Int\nwhere A: B {",
  ])
  func `a function has 50 lines at most`(head: String) {
    let headLines = head.split(separator: "\n").count
    let body = { String(repeating: "  a()\n", count: $0 - headLines - 1) }
    #expect(TidyRules.longFunctions(source("\n\(head)\n\(body(50))}\n")).isEmpty)
    #expect(TidyRules.longFunctions(source("\n\(head)\n\(body(51))}\n")).map(\.line) == [2])
  }

  @Test func `a brace in a string or a comment does not count`() {
    let text = "func f() {\n  a(\"}\")  // }\n" + String(repeating: "\n", count: 60) + "}\n"
    #expect(TidyRules.longFunctions(source(text)).count == 1)
  }

  @Test func `a requirement without a body takes no other's`() {
    let text =
      "protocol P {\n  func f()\n  init()\n}\nextension P {\n"
      + String(repeating: "  var a: Int { 1 }\n", count: 60) + "}\n"
    #expect(TidyRules.longFunctions(source(text)).isEmpty)
  }
}

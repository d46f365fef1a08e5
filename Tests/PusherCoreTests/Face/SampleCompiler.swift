import Foundation
import Testing

/// Type-checks samples against the library as it was built for the tests.
enum SampleCompiler {
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
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let built = URL(filePath: tests).deletingLastPathComponent()
    let places =
      [built.appending(path: "Modules")]
      + ["Epoll", "OpenSSL", "Vectors", "Zlib", "Sodium"].map {
        root.appending(path: "Sources/CSystem\($0)")
      }
    let compiler = Process()
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.currentDirectoryURL = folder
    compiler.arguments =
      [
        "swiftc", "-typecheck", "-wmo", "-parse-as-library", "-swift-version", "6", "-module-name",
        "Samples",
        // The compiler's own place for it is in the home directory, which may be read-only.
        "-module-cache-path", built.appending(path: "ModuleCache").path,
      ]
      + places.flatMap { ["-I", $0.path] } + names
    let errors = Pipe()
    compiler.standardError = errors
    compiler.standardOutput = FileHandle.nullDevice
    try compiler.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    compiler.waitUntilExit()
    let lines = text.split(separator: "\n").filter {
      $0.contains(": error: ") || $0.contains(": warning: ")
    }
    // A diagnostic outside the samples means that nothing was checked.
    for line in lines where !names.contains(where: line.hasPrefix) { Issue.record("\(line)") }
    return names.map { name in lines.filter { $0.hasPrefix(name + ":") }.map(String.init) }
  }
}

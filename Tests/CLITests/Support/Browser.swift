import Foundation
import PusherCore
import Testing

/// A headless Chromium with one page of `Tests/CLITests/Peers`; it ends with the test.
final class Browser {
  private let program: ChildProgram
  private let folder: String
  private let pages: ScriptedServer

  static let path = ["chromium-headless-shell", "chromium", "chromium-browser"]
    .map { "/usr/bin/\($0)" }.first(where: FileManager.default.isExecutableFile(atPath:))

  static let reason = "no Chromium: scripts/install-packages.sh browser installs it"

  /// Options of every browser in the tests.
  ///
  /// All names below `.example` lead to this machine.
  static func options(folder: String) -> [String] {
    // The sandbox needs rights that containers lack. The pages are ours and contact only this
    // machine.
    [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--disable-background-networking", "--no-first-run", "--user-data-dir=\(folder)",
      "--host-resolver-rules=MAP *.example 127.0.0.1",
    ]
  }

  static func pages(_ page: String) throws -> ScriptedServer {
    let text = try ["page_start.html", page].map { try Documentation.text(PythonPeer.folder + $0) }
    return try ScriptedServer.answering(200, body: text.joined())
  }

  /// Loads a page from a web server of `host`, with settings in the query.
  init(
    _ page: String, _ settings: [String: String], host: String = "localhost",
    pages: ScriptedServer? = nil
  ) throws {
    guard let path = Self.path else { throw Unexpected(Self.reason) }
    folder = TemporaryFolder.shared.file("browser")
    let pages = try pages ?? Self.pages(page)
    self.pages = pages
    let query = settings.sorted { $0.key < $1.key }.map { name, value in
      "\(name)=" + (value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
    }
    program = try ChildProgram(
      path,
      Self.options(folder: folder) + [
        "--enable-logging=stderr", "http://\(host):\(pages.port)/?" + query.joined(separator: "&"),
      ], environment: PusherCLI.environment)
  }

  deinit {
    // The installed program may be a script that starts the browser.
    program.endWithChildren()
    try? FileManager.default.removeItem(atPath: folder)
  }

  func page(showing text: String) throws -> [String] {
    while true {
      let lines = Self.lines(of: try program.errorLine(containing: "\"PAGE "))
      if lines.last?.contains(text) == true { return lines }
    }
  }

  /// Returns the page's text from a line of the form `…CONSOLE:1] "PAGE […]", source: …`.
  private static func lines(of line: String) -> [String] {
    guard let start = line.range(of: "\"PAGE "),
      let end = line.range(of: "\", source: ", options: .backwards),
      let list = try? JSONParser.parse(String(line[start.upperBound..<end.lowerBound])).elements
    else { return [line] }
    return list.compactMap(\.text)
  }
}

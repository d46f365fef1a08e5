import Foundation

/// axe-core, which checks a page against WCAG, from the Python package that has its script.
enum Axe {
  /// The script; `nil` where `scripts/python-peers.sh page` has not installed it.
  static let script: String? = {
    guard let interpreter = PythonPeer.interpreter else { return nil }
    let libraries = URL(filePath: interpreter).deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "lib")
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: libraries.path)) ?? []
    for version in versions.sorted() {
      let file = libraries.appending(
        path: "\(version)/site-packages/axe_playwright_python/axe.min.js")
      if let text = try? String(contentsOf: file, encoding: .utf8) { return text }
    }
    return nil
  }()

  /// Violations of WCAG 2.0 to 2.2, levels A and AA, as rules with their elements.
  static let violations = """
    axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"],
    }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`)))
    """
}

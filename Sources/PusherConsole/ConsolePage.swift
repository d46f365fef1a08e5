internal import PusherCore
internal import PusherServer

/// The console's page: one document that includes its style sheet and scripts and loads nothing
/// else.
///
/// The first request assembles it from the files in `Page`. The Content-Security-Policy names the
/// hash of each part, so that injected text never runs.
enum ConsolePage {
  private static let files: [(name: String, bytes: [UInt8])] = [
    ("address.js", PackageResources.address_js),
    ("calls.js", PackageResources.calls_js),
    ("channels.js", PackageResources.channels_js),
    ("chart.js", PackageResources.chart_js),
    ("connect.js", PackageResources.connect_js),
    ("connections.js", PackageResources.connections_js),
    ("console.css", PackageResources.console_css),
    ("console.js", PackageResources.console_js),
    ("copy.js", PackageResources.copy_js),
    ("detail.js", PackageResources.detail_js),
    ("empty.js", PackageResources.empty_js),
    ("entries.js", PackageResources.entries_js),
    ("fault-words.js", PackageResources.fault_words_js),
    ("faults.js", PackageResources.faults_js),
    ("filter-bar.js", PackageResources.filter_bar_js),
    ("filters.js", PackageResources.filters_js),
    ("folds.js", PackageResources.folds_js),
    ("globs.js", PackageResources.globs_js),
    ("json-text.js", PackageResources.json_text_js),
    ("json-view.js", PackageResources.json_view_js),
    ("keyboard.js", PackageResources.keyboard_js),
    ("list.js", PackageResources.list_js),
    ("rates.js", PackageResources.rates_js),
    ("replay.js", PackageResources.replay_js),
    ("rows.js", PackageResources.rows_js),
    ("send.js", PackageResources.send_js),
    ("sent.js", PackageResources.sent_js),
    ("signing.js", PackageResources.signing_js),
    ("stream.js", PackageResources.stream_js),
    ("tables.js", PackageResources.tables_js),
    ("text.js", PackageResources.text_js),
    ("webhooks.js", PackageResources.webhooks_js),
  ]

  static let answer: HTTPAnswer = {
    let (text, policy) = assembled(
      String(decoding: PackageResources.console_html, as: UTF8.self), files)
    var answer = HTTPAnswer.text(text)
    answer.contentType = "text/html; charset=utf-8"
    answer.headers = HTTPHeaders([
      ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
      ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
      ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"), ("Vary", "Accept-Encoding"),
    ])
    return answer
  }()

  /// A third of the size; the page holds no secret that the compressed length could reveal.
  static let compressed: HTTPAnswer = {
    var compressed = answer
    compressed.headers.append("Content-Encoding", "gzip")
    compressed.encoded = ContentEncoder.gzip(Array((answer.body + "\n").utf8))
    return compressed
  }()

  /// Returns the document with the files inlined, and the policy that allows exactly these files.
  ///
  /// Source: CSP Level 3, sections "script-src" and "Trusted Types".
  static func assembled(
    _ document: String, _ files: [(name: String, bytes: [UInt8])]
  ) -> (text: String, policy: String) {
    var text = ""
    var hashes: (style: [String], script: [String]) = ([], [])
    for line in document.pieces(separatedBy: "\n") {
      guard let part = Part(line),
        let bytes = files.first(where: { $0.name.isSame(as: part.file) })?.bytes
      else {
        text += line + "\n"
        continue
      }
      let content = String(decoding: bytes, as: UTF8.self)
      text += "<\(part.element)>\(content)</\(part.element)>\n"
      let hash = "'sha256-\(Base64.encode(Digest.sha256(Array(content.utf8))))'"
      if part.element == "style" { hashes.style.append(hash) } else { hashes.script.append(hash) }
    }
    let policy = [
      "default-src 'none'", "style-src \(list(hashes.style))",
      "script-src \(list(hashes.script))", "connect-src 'self'", "base-uri 'none'",
      "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]
    return (text, policy.joined(separator: "; "))
  }

  private static func list(_ hashes: [String]) -> String {
    hashes.isEmpty ? "'none'" : hashes.joined(separator: " ")
  }

  private struct Part {
    let element: String
    let file: String

    init?(_ line: Substring) {
      let forms: [(String, StaticString, StaticString)] = [
        ("style", #"<link rel="stylesheet" href=""#, #"">"#),
        ("script", #"<script src=""#, #""></script>"#),
      ]
      for (element, beginning, end) in forms {
        guard let start = line.range(ofBytes: beginning)?.upperBound,
          let stop = line.range(ofBytes: end, from: start)?.lowerBound
        else { continue }
        self.element = element
        file = String(line[start..<stop])
        return
      }
      return nil
    }
  }
}

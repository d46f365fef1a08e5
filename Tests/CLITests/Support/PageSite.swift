import PusherCore
import Testing

enum PageSite {
  /// Serves a text at each path; other paths give 404.
  ///
  /// - Parameter policy: The Content-Security-Policy of all answers.
  static func serve(_ pages: [String: String], policy: String? = nil) throws -> ScriptedServer {
    try ScriptedServer { connection in
      let path = try connection.question().head.target.split(separator: "?").first.map(String.init)
      let page = pages[path ?? ""]
      let body = Array((page ?? "").utf8)
      var headers = [
        ("Content-Type", path?.hasSuffix(".js") == true ? "text/javascript" : "text/html"),
        ("Content-Length", "\(body.count)"), ("Connection", "close"),
      ]
      if let policy { headers.append(("Content-Security-Policy", policy)) }
      let head = HTTPResponseHead(
        status: page == nil ? 404 : 200, reason: "Answer", headers: HTTPHeaders(headers))
      try connection.send(bytes: head.encode() + body)
      connection.end()
    }
  }

  static func document(_ body: String, style: String = "") -> String {
    """
    <!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">
    <style>\(style)</style><body>\(body)</body></html>
    """
  }
}

extension ScriptedServer {
  var place: String { "127.0.0.1:\(port)" }
  func url(_ path: String = "/") -> String { "http://\(place)\(path)" }
}

extension DevToolsBrowser {
  static func showing(_ body: String, style: String = "") throws -> (
    page: BrowserPage, site: ScriptedServer
  ) {
    let site = try PageSite.serve(["/": PageSite.document(body, style: style)])
    let page = try SuiteBrowser.current().page()
    try page.open(site.url())
    return (page, site)
  }
}

import PusherCore

/// Texts that would run, break out or mislead if a page treated them as markup.
enum HostileTexts {
  /// Action of each text if it ran.
  private static let hit = "window.__hit=1"

  static let all: [String] = markup + attributes + scripts + paths + signs + names

  private static let markup = [
    "<img src=x onerror=\(hit)>", "<script>\(hit)</script>", "</script><script>\(hit)</script>",
    "<svg onload=\(hit)>", "<svg><script>\(hit)</script></svg>",
    "<svg><animate onbegin=\(hit) attributeName=x>",
    "<iframe srcdoc='<script>parent.__hit=1</script>'>", "<iframe src=javascript:parent.__hit=1>",
    "<body onload=\(hit)>", "<details open ontoggle=\(hit)>", "<video><source onerror=\(hit)>",
    "<input autofocus onfocus=\(hit)>", "<a href=javascript:\(hit)>a</a>",
    "<base href=//evil.example/>", "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<link rel=stylesheet href=//evil.example/a.css>", "<style>*{display:none}</style>",
    "<math><mtext></mtext><mglyph><style><img src=x onerror=\(hit)>",
    "<!--<img src=--><img src=x onerror=\(hit)>", "<template><img src=x onerror=\(hit)></template>",
    "<form action=//evil.example><button>", "</textarea><img src=x onerror=\(hit)>",
    "</title></style></noscript><img src=x onerror=\(hit)>", "&lt;img src=x onerror=\(hit)&gt;",
  ]

  private static let attributes = [
    "\" onmouseover=\"\(hit)", "' onfocus='\(hit)' autofocus='", "\"><img src=x onerror=\(hit)>",
    "` onclick=`\(hit)", " style=position:fixed;inset:0", "\" hidden id=\"list",
  ]

  private static let scripts = [
    "javascript:\(hit)", "JaVaScRiPt:\(hit)//", "data:text/html,<script>\(hit)</script>",
    "${\(hit)}", "`${\(hit)}`", "{{constructor.constructor('\(hit)')()}}", "';\(hit);'",
    "\\\";\(hit)//", "%3Cscript%3E\(hit)%3C/script%3E", "\\u003cscript\\u003e\(hit)",
  ]

  private static let paths = [
    "../../console", "//evil.example/", "?token=x", "#/where",
    "a\r\nevent: entry\r\ndata: {}\r\n\r\n",
  ]

  private static let signs = [
    "\u{0}\u{1}\u{8}\u{C}", "\u{1B}[2J\u{1B}]0;title\u{7}", "\u{9B}31m\u{85}",
    "line\u{2028}end\u{2029}", "abc\u{202E}gpj.exe\u{202C}", "\u{2066}\u{2067}\u{2068}x\u{2069}",
    "zero\u{200B}width\u{200D}\u{FEFF}", "\u{61C}\u{200E}\u{200F}",
    "a\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}", "\u{FFFE}\u{FFFF}", "\u{E0001}\u{E0041}",
    "\n\t \u{7F}",
  ]

  private static let names = [
    "__proto__", "constructor", "hasOwnProperty", "toString", "\"]{}", "]}*{display:none}", "#list",
    "[data-index]",
    ":root:has(*)", "undefined", "null", "NaN", "-1", "0", String(repeating: "long", count: 5000),
    String(repeating: "\u{202E}", count: 500), String(repeating: "<b>", count: 300),
  ]

  /// Returns a text as the page shows it: escapes for invisible characters, long texts cut.
  static func shown(_ text: String, atMost limit: Int = 100) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(limit) { shown += escape(scalar) }
    return shown
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let isHidden =
      [.control, .format, .surrogate].contains(scalar.properties.generalCategory)
      || ["\u{2028}", "\u{2029}"].contains(scalar)
    guard isHidden else { return String(scalar) }
    if scalar.value < 0x20, let picture = Unicode.Scalar(0x2400 + scalar.value) {
      return String(picture)
    }
    if scalar.value == 0x7F { return "\u{2421}" }
    let digits = String(scalar.value, radix: 16)
    guard scalar.value <= 0xFFFF else { return "\\u{\(digits)}" }
    return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

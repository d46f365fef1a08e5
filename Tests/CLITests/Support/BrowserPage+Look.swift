import Foundation
import PusherCore

/// How the page looks, and what it costs.
extension BrowserPage {
  /// What the user prefers, for `prefers-color-scheme`.
  enum ColorScheme: String {
    case light, dark
  }

  /// Gives the window a size in CSS pixels, and the screen so many pixels for each.
  func setViewport(width: Int, height: Int, scale: Double = 1) throws {
    try call(
      "Emulation.setDeviceMetricsOverride",
      [
        "width": .init(width), "height": .init(height), "deviceScaleFactor": .init(scale),
        "mobile": false,
      ])
  }

  /// Makes the user prefer light or dark pages.
  func prefer(_ scheme: ColorScheme) throws {
    let feature: JSONValue = ["name": "prefers-color-scheme", "value": .init(scheme.rawValue)]
    try call("Emulation.setEmulatedMedia", ["features": [feature]])
  }

  /// A picture of the window as the bytes of a PNG file.
  ///
  /// - Parameter whole: Whether the whole document is taken, also what lies below the window.
  func screenshot(whole: Bool = false) throws -> [UInt8] {
    var parameters: KeyValuePairs<String, JSONValue?> = ["format": "png"]
    if whole {
      let size = try call("Page.getLayoutMetrics")["cssContentSize"] ?? [:]
      let clip: JSONValue = [
        "x": 0, "y": 0, "width": size["width"] ?? 0, "height": size["height"] ?? 0, "scale": 1,
      ]
      parameters = ["format": "png", "captureBeyondViewport": true, "clip": clip]
    }
    let answer = try call("Page.captureScreenshot", .object(present: parameters))
    // Pictures are megabytes, for which ours takes seconds in a build for tests.
    guard let text = answer["data"]?.text, let bytes = Data(base64Encoded: text) else {
      throw Unexpected("the browser took no picture")
    }
    return Array(bytes)
  }

  /// The text in the clipboard, which all pages of a browser share.
  func clipboard() throws -> String {
    try evaluate("navigator.clipboard.readText()").text ?? ""
  }

  /// How many bytes the page's objects take once those are gone that nothing leads to.
  func heapSize() throws -> Int {
    try releaseObjects()
    try call("HeapProfiler.collectGarbage")
    guard let size = try call("Runtime.getHeapUsage")["usedSize"]?.double else {
      throw Unexpected("the browser told no size of the heap")
    }
    return Int(size)
  }

  /// How long after the navigation began the page first showed something, and first content; in milliseconds.
  func firstPaint() throws -> (first: Double, content: Double) {
    let entries = """
      Object.fromEntries(performance.getEntriesByType("paint").map((e) => [e.name, e.startTime]))
      """
    func times() throws -> (first: Double, content: Double)? {
      let found = try evaluate(entries)
      guard let first = found["first-paint"]?.double,
        let content = found["first-contentful-paint"]?.double
      else { return nil }
      return (first, content)
    }
    return try waitFor("the page showed something; \(state)") { try times() }
  }
}

import Foundation
import PusherCore

/// Appearance and cost of the page.
extension BrowserPage {
  enum ColorScheme: String {
    case light, dark
  }

  /// Sets the size of the window in CSS pixels.
  func setViewport(width: Int, height: Int) throws {
    try call(
      "Emulation.setDeviceMetricsOverride",
      [
        "width": .init(width), "height": .init(height), "deviceScaleFactor": 1, "mobile": false,
      ])
  }

  func prefer(_ scheme: ColorScheme) throws {
    let feature: JSONValue = ["name": "prefers-color-scheme", "value": .init(scheme.rawValue)]
    try call("Emulation.setEmulatedMedia", ["features": [feature]])
  }

  /// Returns a picture of the window as a PNG file.
  func screenshot() throws -> [UInt8] {
    let answer = try call("Page.captureScreenshot", ["format": "png"])
    // Pictures are megabytes. Our own decoder takes seconds in a debug build.
    guard let text = answer["data"]?.text, let bytes = Data(base64Encoded: text) else {
      throw Unexpected("the browser took no picture")
    }
    return Array(bytes)
  }

  func clipboard() throws -> String {
    try evaluate("navigator.clipboard.readText()").text ?? ""
  }

  /// Returns the bytes of the page's objects after a garbage collection.
  func heapSize() throws -> Int {
    try releaseObjects()
    try call("HeapProfiler.collectGarbage")
    guard let size = try call("Runtime.getHeapUsage")["usedSize"]?.double else {
      throw Unexpected("the browser told no size of the heap")
    }
    return Int(size)
  }

  /// Returns the times of first paint and first contentful paint after navigation, in milliseconds.
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

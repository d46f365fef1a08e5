import Foundation
import PusherCore

/// A page of a ``DevToolsBrowser``: navigation, questions and waits.
///
/// Every failure describes the page.
final class BrowserPage {
  let browser: DevToolsBrowser
  let context: String
  private let id: String
  private let session: String

  init(_ browser: DevToolsBrowser, id: String, session: String, context: String) {
    self.browser = browser
    self.id = id
    self.session = session
    self.context = context
  }

  @discardableResult
  func call(
    _ method: String, _ parameters: JSONValue = [:], within limit: Duration = patience
  ) throws -> JSONValue {
    try browser.call(method, parameters, session: session, within: limit)
  }

  // MARK: Where the page is

  /// Goes to a URL and waits until the document and its resources are loaded.
  func open(_ url: String) throws {
    let answer = try call("Page.navigate", ["url": .init(url)])
    if let reason = answer["errorText"]?.text {
      throw Unexpected("the browser could not open \(url): \(reason)")
    }
    // Navigation within the document loads nothing.
    guard let loader = answer["loaderId"]?.text else { return }
    try browser.listen(until: heard.loads.contains(loader), "\(url) was loaded; \(state)")
  }

  func reload() throws {
    let before = heard.loads.count
    try call("Page.reload")
    try browser.listen(until: heard.loads.count > before, "the page was loaded again; \(state)")
  }

  // MARK: The page's log

  /// The page's log so far.
  ///
  /// Messages of frames, workers and windows may still be missing.
  var log: PageLog {
    get throws {
      // Earlier messages of the page precede this answer. A page that is being left gives none.
      do { try evaluate("0") } catch is DevToolsError {}
      return heard
    }
  }

  private var heard: PageLog { browser.logs[id] ?? PageLog(frame: id) }

  /// Returns the value of an expression, after awaiting a promise; `undefined` becomes null, and
  /// values that JSON lacks become strings, such as `"NaN"`.
  @discardableResult
  func evaluate(_ expression: String, within limit: Duration = patience) throws -> JSONValue {
    let answer = try call(
      "Runtime.evaluate",
      [
        "expression": .init(expression), "awaitPromise": true, "returnByValue": true,
        "objectGroup": .init(Self.group),
      ], within: limit)
    return try Self.value(of: answer, expression)
  }

  /// Waits until an expression is true; an exception counts as false because its objects may come
  /// later.
  func wait(until expression: String, within limit: Duration = patience) throws {
    var last = "it was never asked"
    try waitUntil("\(expression), last: \(last); \(state)", within: limit) {
      do {
        let value = try evaluate("!!(\(expression))")
        last = value.jsonText
        return value == true
      } catch let error as PageError {
        last = error.description
      } catch let error as DevToolsError {
        // A page that is being left does not answer.
        last = error.description
      }
      return false
    }
  }

  var state: String {
    let shown = (try? evaluate("document.body.innerText", within: .seconds(2)))?.text
    let address = (try? evaluate("location.href", within: .seconds(2)))?.text
    return "at \(address ?? "?") stood '\(shown ?? "nothing")'; complaints: \(heard.complaints)"
  }

  // MARK: Object references

  private static let group = "test"

  private static func value(of answer: JSONValue, _ asked: String) throws -> JSONValue {
    if let details = answer["exceptionDetails"] {
      throw PageError(description: "'\(asked)' threw \(PageLog.exception(details))")
    }
    let result = answer["result"] ?? [:]
    return result["value"] ?? result["unserializableValue"] ?? nil
  }

  /// Returns the Runtime ID of the first element that matches a CSS selector.
  func element(_ selector: String) throws -> String {
    let query = "document.querySelector(\(JSONValue.string(selector).jsonText))"
    let answer = try call(
      "Runtime.evaluate", ["expression": .init(query), "objectGroup": .init(Self.group)])
    _ = try Self.value(of: answer, query)
    guard let element = answer["result"]?["objectId"]?.text else {
      throw PageError(description: "there is no '\(selector)'; \(state)")
    }
    return element
  }

  func ask(_ element: String, _ function: String, _ argument: JSONValue = nil) throws -> JSONValue {
    let answer = try call(
      "Runtime.callFunctionOn",
      [
        "objectId": .init(element), "functionDeclaration": .init(function), "returnByValue": true,
        "arguments": [["value": argument]],
      ])
    return try Self.value(of: answer, function)
  }

  /// Releases the tests' references, so that only the page keeps its objects alive.
  func releaseObjects() throws {
    try call("Runtime.releaseObjectGroup", ["objectGroup": .init(Self.group)])
    // The console keeps references to logged objects.
    try call("Runtime.discardConsoleEntries")
  }
}

struct PageError: Error, CustomStringConvertible {
  let description: String
}

extension BrowserPage {
  enum ColorScheme: String {
    case light, dark
  }

  func setViewport(width: Int, height: Int, scale: Double = 1) throws {
    try call(
      "Emulation.setDeviceMetricsOverride",
      [
        "width": .init(width), "height": .init(height), "deviceScaleFactor": .init(scale),
        "mobile": false,
      ])
  }

  func prefer(_ scheme: ColorScheme) throws {
    let feature: JSONValue = ["name": "prefers-color-scheme", "value": .init(scheme.rawValue)]
    try call("Emulation.setEmulatedMedia", ["features": [feature]])
  }

  /// Returns a picture of the window as a PNG file.
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
    return try waitFor("the page showed something; \(state)") {
      let found = try evaluate(entries)
      guard let first = found["first-paint"]?.double,
        let content = found["first-contentful-paint"]?.double
      else { return nil }
      return (first, content)
    }
  }
}

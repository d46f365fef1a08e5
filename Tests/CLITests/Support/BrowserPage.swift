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

  /// Messages received so far, without another request.
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

/// An unmet expectation about the page.
struct PageError: Error, CustomStringConvertible {
  let description: String
}

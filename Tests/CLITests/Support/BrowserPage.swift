import PusherCore

/// A page of a ``DevToolsBrowser``: what it is sent to, asked, and waited for.
///
/// Every failure says what stood on the page.
final class BrowserPage {
  let browser: DevToolsBrowser
  /// Where the page's storage and cookies are.
  let context: String
  private let id: String
  private let session: String

  init(_ browser: DevToolsBrowser, id: String, session: String, context: String) {
    self.browser = browser
    self.id = id
    self.session = session
    self.context = context
  }

  /// Calls a method of the DevTools protocol for this page.
  @discardableResult
  func call(
    _ method: String, _ parameters: JSONValue = [:], within limit: Duration = patience
  ) throws -> JSONValue {
    try browser.call(method, parameters, session: session, within: limit)
  }

  // MARK: Where the page is

  /// Goes to a URL, and waits until the document and all that it names is loaded.
  func open(_ url: String) throws {
    let answer = try call("Page.navigate", ["url": .init(url)])
    if let reason = answer["errorText"]?.text {
      throw Unexpected("the browser could not open \(url): \(reason)")
    }
    // Another place in the same document loads nothing.
    guard let loader = answer["loaderId"]?.text else { return }
    try browser.listen(until: heard.loads.contains(loader), "\(url) was loaded; \(state)")
  }

  /// Loads the document anew, and waits as ``open(_:)`` does.
  func reload() throws {
    let before = heard.loads.count
    try call("Page.reload")
    try browser.listen(until: heard.loads.count > before, "the page was loaded again; \(state)")
  }

  // MARK: What the page says

  /// What the page has said and done up to now; of frames, workers and windows, what has come.
  var log: PageLog {
    get throws {
      // What the page said before comes before this answer. One that is just being left has none.
      do { try evaluate("0") } catch is DevToolsError {}
      return heard
    }
  }

  /// What has been heard, without asking for more.
  private var heard: PageLog { browser.logs[id] ?? PageLog(frame: id) }

  /// The value of an expression, that of a promise once it has one; `undefined` is null, and what JSON does not have a
  /// string, as `"NaN"`.
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

  /// Waits until an expression is true; one that throws is not yet, since what it asks may be still to come.
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
        // A page that is just being left has no answer.
        last = error.description
      }
      return false
    }
  }

  /// The text that stands on the page, and what is wrong with it, for messages of tests.
  var state: String {
    let shown = (try? evaluate("document.body.innerText", within: .seconds(2)))?.text
    let address = (try? evaluate("location.href", within: .seconds(2)))?.text
    return "at \(address ?? "?") stood '\(shown ?? "nothing")'; complaints: \(heard.complaints)"
  }

  // MARK: Objects of the page

  /// What the page's objects that we hold are released by.
  private static let group = "test"

  /// The value in an answer of the domain Runtime.
  private static func value(of answer: JSONValue, _ asked: String) throws -> JSONValue {
    if let details = answer["exceptionDetails"] {
      throw PageError(description: "'\(asked)' threw \(PageLog.exception(details))")
    }
    let result = answer["result"] ?? [:]
    return result["value"] ?? result["unserializableValue"] ?? nil
  }

  /// The first element that a selector of CSS names, as an id of the domain Runtime.
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

  /// Calls a function with an element as `this`, and answers its value.
  func ask(_ element: String, _ function: String, _ argument: JSONValue = nil) throws -> JSONValue {
    let answer = try call(
      "Runtime.callFunctionOn",
      [
        "objectId": .init(element), "functionDeclaration": .init(function), "returnByValue": true,
        "arguments": [["value": argument]],
      ])
    return try Self.value(of: answer, function)
  }

  /// Lets go of what we hold of the page, so that the page alone keeps things alive.
  func releaseObjects() throws {
    try call("Runtime.releaseObjectGroup", ["objectGroup": .init(Self.group)])
    // The console keeps what was written to it.
    try call("Runtime.discardConsoleEntries")
  }
}

/// The page is not as the test needs it.
struct PageError: Error, CustomStringConvertible {
  let description: String
}

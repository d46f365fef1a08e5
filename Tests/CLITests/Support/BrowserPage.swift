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

/// User actions on elements; a CSS selector means its first match.
extension BrowserPage {
  /// Clicks at the middle of an element with the mouse, after scrolling it into view.
  ///
  /// - Throws: ``PageError`` if the element is missing, invisible, disabled or covered by another
  ///   one.
  func click(_ selector: String) throws {
    let (x, y) = try middle(of: selector)
    for type in ["mouseMoved", "mousePressed", "mouseReleased"] { try mouse(type, x, y) }
  }

  func point(at selector: String) throws {
    let (x, y) = try middle(of: selector)
    try mouse("mouseMoved", x, y)
  }

  /// Focuses an element and enters text at its caret, as an input method does.
  ///
  /// - Parameter replacing: Replaces the existing text.
  /// - Throws: ``PageError`` if the element is missing, or accepts neither focus nor text.
  func type(_ text: String, into selector: String, replacing: Bool = false) throws {
    let element = try element(selector)
    try demand(element, selector, Self.focus, .init(replacing))
    if replacing, text.isEmpty { return try press("Backspace") }
    try call("Input.insertText", ["text": .init(text)])
  }

  /// Selects files in a file field, in place of the current selection.
  func choose(files: [String], in selector: String) throws {
    try call(
      "DOM.setFileInputFiles",
      ["files": .array(files.map { .init($0) }), "objectId": .init(try element(selector))])
  }

  // MARK: Helpers

  private func middle(of selector: String) throws -> (x: Double, y: Double) {
    let element = try element(selector)
    try demand(element, selector, Self.visible)
    try call("DOM.scrollIntoViewIfNeeded", ["objectId": .init(element)])
    let place = try demand(element, selector, Self.hit)
    guard let x = place["x"]?.double, let y = place["y"]?.double else {
      throw Unexpected(place.jsonText)
    }
    return (x, y)
  }

  /// Calls a function on an element; a returned text describes a fault of the element.
  @discardableResult
  private func demand(
    _ element: String, _ selector: String, _ function: String, _ argument: JSONValue = nil
  ) throws -> JSONValue {
    let answer = try ask(element, function, argument)
    guard let fault = answer.text else { return answer }
    throw PageError(description: "'\(selector)' \(fault); \(state)")
  }

  private func mouse(_ type: String, _ x: Double, _ y: Double) throws {
    let isMove = type == "mouseMoved"
    try call(
      "Input.dispatchMouseEvent",
      [
        "type": .init(type), "x": .init(x), "y": .init(y), "clickCount": .init(isMove ? 0 : 1),
        "button": isMove ? "none" : "left",
      ])
  }

  private static let visible = """
    function () {
      const box = this.getBoundingClientRect();
      const seen = this.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      if (!seen || box.width === 0 || box.height === 0) return "is not visible";
      return this.matches(":disabled") ? "is disabled" : null;
    }
    """

  private static let hit = """
    function () {
      const box = this.getBoundingClientRect();
      const place = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
      const top = this.getRootNode().elementFromPoint(place.x, place.y);
      if (!top) return "lies outside of the window";
      return this.contains(top) ? place : "is covered by " + top.outerHTML.slice(0, 200);
    }
    """

  private static let focus = """
    function (replacing) {
      this.focus();
      if (this.getRootNode().activeElement !== this) return "cannot have the focus";
      if (!this.matches(":read-write")) return "takes no text";
      if (replacing) this.select ? this.select() : getSelection().selectAllChildren(this);
      return null;
    }
    """
}

struct PressedKey {
  /// `KeyboardEvent.key`: `Enter`, `a`, `?`.
  var name: String
  /// `KeyboardEvent.code`, the position on an American keyboard; empty if that has no such key.
  var code: String
  /// `KeyboardEvent.keyCode`.
  var number: Int
  var text: String?

  private static let named: [String: PressedKey] = {
    let plain = [
      "Backspace": 8, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
      "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46, "Tab": 9,
    ]
    var keys = plain.reduce(into: [:]) { keys, entry in
      keys[entry.key] = PressedKey(name: entry.key, code: entry.key, number: entry.value)
    }
    for number in 1...12 {
      keys["F\(number)"] = PressedKey(name: "F\(number)", code: "F\(number)", number: 111 + number)
    }
    keys["Enter"] = PressedKey(name: "Enter", code: "Enter", number: 13, text: "\r")
    keys[" "] = PressedKey(name: " ", code: "Space", number: 32, text: " ")
    return keys
  }()

  /// Positions of characters on an American keyboard, with legacy key codes; with shift and
  /// without.
  private static let signs: [Character: (code: String, number: Int)] = {
    let rows: [(String, String, Int)] = [
      (";:", "Semicolon", 186), ("=+", "Equal", 187), (",<", "Comma", 188), ("-_", "Minus", 189),
      (".>", "Period", 190), ("/?", "Slash", 191), ("`~", "Backquote", 192),
      ("[{", "BracketLeft", 219), ("\\|", "Backslash", 220), ("]}", "BracketRight", 221),
      ("'\"", "Quote", 222),
    ]
    return rows.reduce(into: [:]) { signs, row in
      for sign in row.0 { signs[sign] = (row.1, row.2) }
    }
  }()

  /// Returns the key of an event name: `Enter`, `ArrowDown`, `F1`, or one character; `nil` for any
  /// other.
  static func named(_ name: String) -> PressedKey? {
    if let key = named[name] { return key }
    guard let character = name.first, name.count == 1 else { return nil }
    var key = PressedKey(name: name, code: "", number: 0, text: name)
    let upper = name.uppercased()
    if let ascii = character.asciiValue, character.isLetter || character.isNumber {
      key.code = (character.isLetter ? "Key" : "Digit") + upper
      key.number = Int(upper.utf8.first ?? ascii)
    } else if let place = signs[character] {
      (key.code, key.number) = place
    }
    return key
  }
}

/// The keyboard.
///
/// Keys go to the focused element.
extension BrowserPage {
  /// Presses and releases a key.
  ///
  /// - Parameter name: As in events: `Enter`, `Escape`, `Tab`, `ArrowDown`, `F1`, or one character.
  func press(_ name: String) throws {
    guard let key = PressedKey.named(name) else { throw Unexpected("there is no key '\(name)'") }
    try send(key.text == nil ? "rawKeyDown" : "keyDown", key)
    try send("keyUp", key)
  }

  private func send(_ type: String, _ key: PressedKey) throws {
    try call(
      "Input.dispatchKeyEvent",
      .object(present: [
        "type": .init(type), "key": .init(key.name), "code": .init(key.code),
        "windowsVirtualKeyCode": .init(key.number),
        "text": type == "keyDown" ? key.text.map { .init($0) } : nil,
      ]))
  }
}

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

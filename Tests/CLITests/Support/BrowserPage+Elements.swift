import PusherCore

/// User actions on elements; a CSS selector means its first match.
extension BrowserPage {
  /// Clicks at the middle of an element with the mouse, after scrolling it into view.
  func click(_ selector: String, _ modifiers: KeyModifiers = [], count: Int = 1) throws {
    let (x, y) = try middle(of: selector)
    try mouse("mouseMoved", x, y, modifiers, count: 0)
    for number in 1...count {
      try mouse("mousePressed", x, y, modifiers, count: number)
      try mouse("mouseReleased", x, y, modifiers, count: number)
    }
  }

  func point(at selector: String) throws {
    let (x, y) = try middle(of: selector)
    try mouse("mouseMoved", x, y, [], count: 0)
  }

  /// Focuses an element and enters text at its caret, as an input method does.
  func type(_ text: String, into selector: String, replacing: Bool = false) throws {
    let element = try element(selector)
    try demand(element, selector, Self.focus, .init(replacing))
    if replacing, text.isEmpty { return try press("Backspace") }
    try call("Input.insertText", ["text": .init(text)])
  }

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

  private func mouse(
    _ type: String, _ x: Double, _ y: Double, _ modifiers: KeyModifiers, count: Int
  ) throws {
    try call(
      "Input.dispatchMouseEvent",
      [
        "type": .init(type), "x": .init(x), "y": .init(y), "clickCount": .init(count),
        "button": count == 0 ? "none" : "left", "modifiers": .init(modifiers.rawValue),
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

/// Modifier keys, as the DevTools protocol counts them.
struct KeyModifiers: OptionSet {
  let rawValue: Int

  static let control = KeyModifiers(rawValue: 2)
  static let shift = KeyModifiers(rawValue: 8)

  fileprivate static let keys: [(modifier: KeyModifiers, key: PressedKey)] = [
    (.control, PressedKey(name: "Control", code: "ControlLeft", number: 17)),
    (.shift, PressedKey(name: "Shift", code: "ShiftLeft", number: 16)),
  ]
}

struct PressedKey {
  /// `KeyboardEvent.key`: `Enter`, `a`, `?`.
  var name: String
  /// `KeyboardEvent.code`, the position on an American keyboard; empty if that has no such key.
  var code: String
  /// `KeyboardEvent.keyCode`.
  var number: Int
  var text: String?

  private static let numbers = [
    "Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37,
    "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "F1": 112,
  ]
  private static let signs = [" ": ("Space", 32), "/": ("Slash", 191), "?": ("Slash", 191)]

  /// Returns the key of an event name, such as `Enter`, or one character; `nil` for any other.
  static func named(_ name: String) -> PressedKey? {
    if let number = numbers[name] {
      return PressedKey(name: name, code: name, number: number, text: name == "Enter" ? "\r" : nil)
    }
    guard let character = name.first, name.count == 1 else { return nil }
    var key = PressedKey(name: name, code: "", number: 0, text: name)
    if let ascii = character.asciiValue, character.isLetter || character.isNumber {
      let upper = name.uppercased()
      key.code = (character.isLetter ? "Key" : "Digit") + upper
      key.number = Int(upper.utf8.first ?? ascii)
    } else if let place = signs[name] {
      (key.code, key.number) = place
    }
    return key
  }
}

/// The keyboard.
///
/// Keys go to the focused element.
extension BrowserPage {
  /// Presses and releases a key, with the modifiers around it.
  func press(_ name: String, _ modifiers: KeyModifiers = []) throws {
    guard let key = PressedKey.named(name) else { throw Unexpected("there is no key '\(name)'") }
    var held: KeyModifiers = []
    let others = KeyModifiers.keys.filter { modifiers.contains($0.modifier) }
    for other in others {
      held.insert(other.modifier)
      try send("rawKeyDown", other.key, held)
    }
    // With Control a key is a command and enters no text.
    let enters = key.text != nil && !modifiers.contains(.control)
    try send(enters ? "keyDown" : "rawKeyDown", key, held)
    try send("keyUp", key, held)
    for other in others.reversed() {
      held.remove(other.modifier)
      try send("keyUp", other.key, held)
    }
  }

  private func send(_ type: String, _ key: PressedKey, _ modifiers: KeyModifiers) throws {
    try call(
      "Input.dispatchKeyEvent",
      .object(present: [
        "type": .init(type), "key": .init(key.name), "code": .init(key.code),
        "windowsVirtualKeyCode": .init(key.number), "modifiers": .init(modifiers.rawValue),
        "text": type == "keyDown" ? key.text.map { .init($0) } : nil,
      ]))
  }
}

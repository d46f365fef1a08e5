import PusherCore

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

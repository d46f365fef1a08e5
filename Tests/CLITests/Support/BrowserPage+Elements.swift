import PusherCore

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

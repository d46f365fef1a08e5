import Foundation
import PusherCore
import Testing

extension DrivenBrowserTests {
  // MARK: The mouse

  @Test func `a click is one of a mouse, at the middle of its element, wherever that is`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      "<div style='height: 5000px'></div><button id='far'><b>press</b></button>")
    try page.evaluate(
      """
      var seen = [];
      for (const type of ["mousedown", "mouseup", "click", "dblclick"])
        far.addEventListener(type, (e) => seen.push([e.type, e.isTrusted, e.shiftKey, e.detail]));
      var middle = null;
      far.addEventListener("click", (e) => {
        const box = far.getBoundingClientRect();
        middle = Math.hypot(e.clientX - box.x - box.width / 2, e.clientY - box.y - box.height / 2);
      });
      """)
    try page.click("#far")
    #expect(
      try page.evaluate("seen.splice(0)") == [
        ["mousedown", true, false, 1], ["mouseup", true, false, 1], ["click", true, false, 1],
      ])
    #expect(try #require(try page.evaluate("middle").double) < 1)
    try page.click("#far", .shift, count: 2)
    #expect(
      try page.evaluate("seen.filter(([type]) => type.endsWith('click'))") == [
        ["click", true, true, 1], ["click", true, true, 2], ["dblclick", true, true, 2],
      ])
  }

  @Test func `what nobody could click on is not clicked on`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      """
      <button id="gone" style="display: none">a</button>
      <button id="unseen" style="visibility: hidden">a</button>
      <button id="clear" style="opacity: 0">a</button>
      <button id="off" disabled>a</button>
      <div style="position: relative"><button id="under">a</button><div id="cover"></div></div>
      <button id="outside" style="position: fixed; left: -500px">a</button>
      """, style: "#cover { position: absolute; inset: 0; background: white }")
    try page.evaluate("var clicks = 0; addEventListener('click', () => clicks++, true)")
    for (selector, reason) in [
      ("#missing", "there is no '#missing'"), ("#gone", "'#gone' is not visible"),
      ("#unseen", "'#unseen' is not visible"), ("#clear", "'#clear' is not visible"),
      ("#off", "'#off' is disabled"),
      ("#under", #"'#under' is covered by <div id="cover"></div>"#),
      ("#outside", "'#outside' lies outside of the window"),
    ] {
      let told = fault { try page.click(selector) }
      #expect(told.contains(reason), "\(told)")
    }
    #expect(fault { try page.click("#[") }.contains("SyntaxError"))
    #expect(try page.evaluate("clicks") == 0)
    try page.evaluate("cover.remove()")
    try page.click("#under")
    #expect(try page.evaluate("clicks") == 1)
  }

  // MARK: The keyboard

  @Test func `text goes into fields, and only into those`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      """
      <input id="field"><textarea id="area">old</textarea><p id="free" contenteditable>old</p>
      <input id="fixed" readonly><input id="off" disabled><p id="plain">text</p>
      <script>var inputs = []; field.oninput = (e) => inputs.push(e.data)</script>
      """)
    try page.type("Grüße \"✓\"", into: "#field")
    #expect(try page.evaluate("[field.value, inputs]") == ["Grüße \"✓\"", ["Grüße \"✓\""]])
    for selector in ["#field", "#area", "#free"] {
      try page.type("new", into: selector, replacing: true)
    }
    #expect(
      try page.evaluate("[field.value, area.value, free.textContent]") == ["new", "new", "new"])
    try page.type("", into: "#area", replacing: true)
    #expect(try page.evaluate("area.value") == "")
    #expect(fault { try page.type("x", into: "#fixed") }.contains("'#fixed' takes no text"))
    for selector in ["#off", "#plain"] {
      let told = fault { try page.type("x", into: selector) }
      #expect(told.contains("'\(selector)' cannot have the focus"), "\(told)")
    }
  }

  @Test func `keys reach what has the focus, with modifiers around them`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      """
      <form onsubmit="sent++; return false"><input id="field"><input id="next"><button>send</button></form>
      <script>var sent = 0, seen = []; for (const type of ["keydown", "keyup"]) addEventListener(type,
        (e) => seen.push([e.type, e.key, e.code, e.keyCode, e.ctrlKey, e.shiftKey]))</script>
      """)
    try page.type("word", into: "#field")
    try page.press("K", [.control, .shift])
    #expect(
      try page.evaluate("seen.splice(0)") == [
        ["keydown", "Control", "ControlLeft", 17, true, false],
        ["keydown", "Shift", "ShiftLeft", 16, true, true],
        ["keydown", "K", "KeyK", 75, true, true], ["keyup", "K", "KeyK", 75, true, true],
        ["keyup", "Shift", "ShiftLeft", 16, true, false],
        ["keyup", "Control", "ControlLeft", 17, false, false],
      ])
    for key in ["s", "7", "?", " ", "ü"] { try page.press(key) }
    #expect(try page.evaluate("field.value") == "words7? ü")
    #expect(
      try page.evaluate("seen.splice(0).filter(([type]) => type === 'keydown').map((e) => e[2])")
        == ["KeyS", "Digit7", "Slash", "Space", ""])
    try page.press("Backspace")
    #expect(try page.evaluate("field.value") == "words7? ")
    try page.press("Enter")
    #expect(try page.evaluate("sent") == 1)
    try page.press("Tab")
    #expect(try page.evaluate("document.activeElement.id") == "next")
    for key in ["Escape", "ArrowDown", "F1"] { try page.press(key) }
    let codes = try page.evaluate(
      "seen.filter(([type]) => type === 'keyup').slice(-3).map((e) => e[3])")
    #expect(codes == [27, 40, 112])
    #expect(fault { try page.press("Return") }.contains("there is no key 'Return'"))
  }
}

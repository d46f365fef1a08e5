import PusherCore
import Testing

@Suite(
  "Console page: rules of WCAG", .serialized, .sharesBrowser,
  .needsBrowser, .needs(.axe),
  .runsProgramsFirst)
struct ConsoleAxeTests {
  private static let sizes = [(390, 844), (1280, 800)]

  // ``ConsoleLook/faint`` checks the colours of the dark scheme.
  @Test func `axe-core finds no fault on any tab, in a dialog or on an empty page`() throws {
    let scene = try ConsoleScene()
    let page = scene.view.page
    let script = try #require(Axe.script)
    try page.evaluate("\(script);0")
    for (width, height) in Self.sizes {
      try page.setViewport(width: width, height: height)
      for view in ConsoleScene.views {
        try scene.show(view)
        #expect(try page.evaluate(Axe.violations) == [], "\(view), \(width)")
      }
      try page.click("#keys-open")
      try page.wait(until: "document.getElementById('keys').open")
      #expect(try page.evaluate(Axe.violations) == [], "shortcuts, \(width)")
      try page.click("#keys-close")
      try page.wait(until: "!document.getElementById('keys').open")
      try scene.view.choose("live")
    }
    try page.click("#clear")
    try scene.view.wait("empty", shows: "No entries yet")
    #expect(try page.evaluate(Axe.violations) == [], "empty, 1280")
    // A field without a name shows that the rules are applied.
    try page.evaluate("document.querySelector('main').append(document.createElement('input')); 0")
    let found = try page.evaluate(Axe.violations).elements?.compactMap(\.text) ?? []
    #expect(found.contains { $0.hasPrefix("label: main > input") }, "\(found)")
    try scene.view.demandSound()
  }
}

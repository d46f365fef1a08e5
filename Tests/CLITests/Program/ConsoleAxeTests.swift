import PusherCore
import Testing

@Suite(
  "Console page: rules of WCAG", .serialized, .sharesBrowser, .needsBrowser, .needs(.axe),
  .runsProgramsFirst)
struct ConsoleAxeTests {
  /// ``ConsoleLook/faint`` checks the colours of both schemes at each size.
  private static let looks = [(390, 844, BrowserPage.ColorScheme.dark), (1280, 800, .light)]

  @Test func `axe-core finds no fault on any tab, in a dialog or on an empty page`() throws {
    let scene = try ConsoleScene()
    let page = scene.view.page
    try page.evaluate(#require(Axe.script) + ";0")
    for (width, height, scheme) in Self.looks {
      try page.setViewport(width: width, height: height)
      try page.prefer(scheme)
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
    for scheme in [BrowserPage.ColorScheme.light, .dark] {
      try page.prefer(scheme)
      #expect(try page.evaluate(Axe.violations) == [], "empty, \(scheme)")
    }
    // A field without a name shows that the rules are applied.
    try page.evaluate("document.querySelector('main').append(document.createElement('input')); 0")
    let found = try page.evaluate(Axe.violations).elements?.compactMap(\.text) ?? []
    #expect(found.contains { $0.hasPrefix("label: main > input") }, "\(found)")
    try scene.view.demandSound()
  }
}

import Foundation
import PusherCore
import Testing

@Suite("Console page: how it looks", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct ConsoleLookTests {
  private static let sizes = [(320, 640), (390, 844), (1280, 800), (2560, 1440)]
  /// Folder for screenshots, if wanted.
  private static let folder = ProcessInfo.processInfo.environment["PUSHER_CLI_SCREENSHOTS"]

  private func keep(_ page: BrowserPage, as name: String) throws {
    guard let folder = Self.folder else { return }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(page.screenshot()).write(to: URL(filePath: "\(folder)/\(name).png"))
  }

  @Test func `each view is legible and named at each size, light and dark`() throws {
    let scene = try ConsoleScene()
    let page = scene.view.page
    for (width, height) in Self.sizes {
      try page.setViewport(width: width, height: height)
      for view in ConsoleScene.views {
        try scene.show(view)
        for scheme in [BrowserPage.ColorScheme.light, .dark] {
          try page.prefer(scheme)
          let place = "\(view)-\(width)-\(scheme)"
          #expect(try page.evaluate(ConsoleLook.faint) == [], "\(place)")
          #expect(try page.evaluate(ConsoleLook.unnamed) == [], "\(place)")
          #expect(try page.evaluate(ConsoleLook.wide) == [], "\(place)")
          try keep(page, as: place)
        }
      }
      try scene.view.choose("live")
    }
    try scene.view.demandSound()
  }

  @Test func `the focus is seen wherever it goes`() throws {
    let scene = try ConsoleScene()
    let page = scene.view.page
    for view in ConsoleScene.views {
      try scene.show(view)
      try page.evaluate("document.activeElement.blur()")
      var visited: Set<String> = []
      for _ in 1...60 {
        try page.press("Tab")
        let look = try page.evaluate(ConsoleLook.focusLook).elements ?? []
        let name = look.first?.text ?? ""
        #expect(look.last == true, "\(view): \(name)")
        visited.insert(name)
        if name.isEmpty { break }
      }
      #expect(visited.count > 5, "\(view): \(visited)")
    }
    try scene.view.demandSound()
  }
}

import PusherCore
import Testing

extension DrivenBrowserTests {
  private static func size(of picture: [UInt8]) throws -> [Int] {
    try #require(picture.starts(with: [0x89] + Array("PNG\r\n".utf8)))
    return [16, 20].map { start in picture[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
  }

  // MARK: Look

  @Test func `the window has the size that it is given, and so has its picture`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      "<main></main>", style: "body { margin: 0 } main { height: 3000px }")
    try page.setViewport(width: 400, height: 300, scale: 2)
    let seen =
      "[innerWidth, innerHeight, devicePixelRatio, matchMedia('(max-width: 400px)').matches]"
    #expect(try page.evaluate(seen) == [400, 300, 2, true])
    #expect(try Self.size(of: page.screenshot()) == [800, 600])
    // A scroll bar, which is not part of the document, leads to content below the window.
    let width = try #require(try page.evaluate("document.documentElement.clientWidth").integer)
    #expect(width > 300)
    #expect(try Self.size(of: page.screenshot(whole: true)) == [2 * width, 6000])
    try page.setViewport(width: 1000, height: 200)
    #expect(try page.evaluate(seen) == [1000, 200, 1, false])
    #expect(try Self.size(of: page.screenshot()) == [1000, 200])
  }

  @Test func `the user's preference of colours reaches the page`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      "", style: "@media (prefers-color-scheme: dark) { body { background: black } }")
    let isDark = "matchMedia('(prefers-color-scheme: dark)').matches"
    try page.prefer(.light)
    #expect(try page.evaluate(isDark) == false)
    let light = try page.screenshot()
    try page.prefer(.dark)
    #expect(try page.evaluate(isDark) == true)
    #expect(try page.screenshot() != light)
    try page.prefer(.light)
    #expect(try page.screenshot() == light)
  }

  // MARK: Measures

  @Test func `the heap holds what is used, not what was`() throws {
    let (page, _) = try DevToolsBrowser.showing("")
    let empty = try page.heapSize()
    // A console entry counts only while the page itself holds the object.
    try page.evaluate(
      "var kept = Array.from({ length: 500_000 }, (_, n) => ({ n })); console.log(kept); 0")
    let full = try page.heapSize()
    #expect(full - empty > 5_000_000, "\(empty) then \(full) bytes")
    try page.evaluate("kept = null")
    let after = try page.heapSize()
    #expect(after - empty < 1_000_000, "\(empty), \(full), then \(after) bytes")
  }
}

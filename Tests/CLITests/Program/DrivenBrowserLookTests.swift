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

  @Test func `a picture of many megabytes comes whole`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      """
      <canvas id="noise" width="2000" height="1500" style="display: block"></canvas><script>
      const context = noise.getContext("2d"), image = context.createImageData(2000, 1500);
      for (let at = 0; at < image.data.length; at += 65536)
        crypto.getRandomValues(image.data.subarray(at, Math.min(at + 65536, image.data.length)));
      for (let at = 3; at < image.data.length; at += 4) image.data[at] = 255;
      context.putImageData(image, 0, 0);
      </script>
      """, style: "body { margin: 0 }")
    try page.setViewport(width: 2000, height: 1500)
    let picture = try page.screenshot()
    #expect(try Self.size(of: picture) == [2000, 1500])
    // Noise does not compress.
    #expect(picture.count > 8_000_000, "\(picture.count) bytes")
    #expect(picture.suffix(8) == [0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82])
  }

  // MARK: Measures

  @Test func `what a page copies is in the clipboard`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      "<button id='copy' onclick='navigator.clipboard.writeText(\"Grüße ✓\").then(() => copied = true)'>copy</button>"
        + "<script>var copied = false</script>")
    #expect(try page.clipboard() == "")
    try page.click("#copy")
    try page.wait(until: "copied")
    #expect(try page.clipboard() == "Grüße ✓")
  }

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

  @Test func `the first paint is told`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      """
      <p id="text"></p>
      <script>setTimeout(() => { text.textContent = "now"; window.shown = performance.now() }, 50)</script>
      """)
    let times = try page.firstPaint()
    #expect(times.first > 0)
    #expect(times.content >= times.first)
    #expect(times.content >= (try #require(try page.evaluate("shown").double)))
  }
}

import PusherServer
import Testing

/// docs/console.md, "What the page remembers".
@Suite("The console: the ring of entries that are kept")
struct EntryHistoryTests {
  /// Size of an entry in the ring, in bytes.
  private func size(_ text: String) -> Int { text.utf8.count + EntryHistory.lengthSize }

  @Test func `the last entries are kept, the oldest first`() {
    var history = EntryHistory(3)
    #expect(history.texts(skipping: 0) == [])
    for text in ["a", "", "c", "d"] { history.add(text) }
    #expect(history.count == 3)
    #expect(history.texts(skipping: 0) == ["", "c", "d"])
    #expect(history.texts(skipping: 2) == ["d"])
    #expect(history.texts(skipping: 3) == [])
  }

  @Test func `the oldest entries go for one that needs their bytes`() {
    var history = EntryHistory(100, byteLimit: 30)
    for text in ["aaaaa", "bbbbb", "ccccc"] { history.add(text) }
    #expect(history.count == 3, "27 bytes")
    history.add("dddddd")
    #expect(history.texts(skipping: 0) == ["bbbbb", "ccccc", "dddddd"], "28 bytes")
    history.add("e")
    #expect(history.texts(skipping: 0) == ["ccccc", "dddddd", "e"], "24 bytes")
    let all = String(repeating: "f", count: 26)
    history.add(all)
    #expect(history.texts(skipping: 0) == [all], "30 bytes")
  }

  @Test func `an entry that is larger than the ring leaves none, so that numbers stay in a row`() {
    var history = EntryHistory(100, byteLimit: 30)
    history.add("a")
    history.add(String(repeating: "b", count: 27))
    #expect(history.count == 0)
    history.add("c")
    #expect(history.texts(skipping: 0) == ["c"])
  }

  @Test func `every length at every place of the ring comes back whole`() {
    for byteLimit in EntryHistory.lengthSize...64 {
      var history = EntryHistory(5, byteLimit: byteLimit)
      var model: [String] = []
      for number in 0..<300 {
        let letter = number.isMultiple(of: 3) ? "🎉" : number.isMultiple(of: 2) ? "é" : "x"
        let text = String(repeating: letter, count: number * 7 % 13)
        history.add(text)
        model.append(text)
        if size(text) > byteLimit { model = [] }
        while model.count > 5 || model.reduce(0, { $0 + size($1) }) > byteLimit {
          model.removeFirst()
        }
        guard history.texts(skipping: 0) == model, history.count == model.count else {
          Issue.record("\(byteLimit) bytes, entry \(number): \(model)")
          return
        }
      }
    }
  }

  @Test func `the ring of the server holds four megabytes of entries, and no more`() {
    var history = EntryHistory(100_000)
    let text = String(repeating: "x", count: 1020)
    for _ in 0..<5000 { history.add(text) }
    #expect(history.count == (4 << 20) / 1024)
    #expect(history.texts(skipping: history.count - 1) == [text])
  }
}

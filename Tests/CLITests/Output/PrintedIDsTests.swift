import PusherCore
import Testing

@testable import pusher_cli

@Suite struct `What the written bytes say about ids` {
  private func note(_ ids: PrintedIDs, _ id: String, at place: Int) {
    let buffer = ByteBuffer()
    buffer.append(id)
    withExtendedLifetime(buffer) { ids.note(buffer.view, at: place) }
  }

  private func taken(_ ids: PrintedIDs, through written: Int) -> String? {
    ids.take(through: written).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `an id counts from the last byte of its line on`() {
    let ids = PrintedIDs(after: "", limit: 1000)
    note(ids, "a", at: 10)
    note(ids, "b", at: 20)
    #expect(taken(ids, through: 9) == nil)
    #expect(taken(ids, through: 19) == "a")
    #expect(taken(ids, through: 19) == nil)
    #expect(taken(ids, through: 20) == "b")
  }

  @Test func `lines without an id of their own add nothing, and an empty id is one`() {
    let ids = PrintedIDs(after: "a", limit: 1000)
    note(ids, "a", at: 10)
    #expect(taken(ids, through: 10) == nil)
    note(ids, "", at: 20)
    note(ids, "a", at: 30)
    #expect(taken(ids, through: 25) == "")
    #expect(taken(ids, through: 30) == "a")
  }

  @Test func `past the limit places move on and never claim what is not written`() {
    let ids = PrintedIDs(after: "", limit: 40)
    for number in 1...1000 { note(ids, "\(number)", at: number * 10) }
    var last = 0
    for written in stride(from: 0, through: 10_000, by: 7) {
      guard let id = taken(ids, through: written).flatMap({ Int($0) }) else { continue }
      #expect(id * 10 <= written)
      last = id
    }
    #expect(taken(ids, through: 10_000) == "1000" || last == 1000)
  }
}

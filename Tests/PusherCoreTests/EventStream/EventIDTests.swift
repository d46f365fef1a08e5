import PusherCore
import Testing

@Suite("Which event a new request can name")
struct EventIDTests {
  @Test(arguments: [
    ("", nil), ("42", nil), ("é \u{A0} \t", nil), (String(repeating: "x", count: 16_384), nil),
    ("8\u{7F}", "has a control character"), ("a\u{1}b", "has a control character"),
    (String(repeating: "x", count: 16_385), "has 16385 bytes, more than the limit of 16384"),
  ])
  func `an id with a control character or of more than 16 KiB is none`(id: String, reason: String?)
  {
    #expect(EventID.objection(to: id.utf8) == reason)
    let buffer = ByteBuffer()
    buffer.append(id)
    withExtendedLifetime(buffer) { #expect(EventID.objection(to: buffer.view) == reason) }
  }

  /// Returns the ID for a new request after these IDs of events, in one read or in many.
  private func resumed(_ ids: [String], from first: String = "", at once: Bool) throws -> String {
    let parser = EventStreamParser(lastEventID: first)
    for id in ids {
      parser.input.append("id: \(id)\ndata: 1\n\n")
      if !once { while try parser.next() != nil {} }
    }
    while try parser.next() != nil {}
    #expect(parser.lastEventID == ids.last ?? first)
    return parser.resumeID
  }

  @Test(arguments: [true, false])
  func `the last id that a request can name counts`(once: Bool) throws {
    #expect(try resumed(["7", "8\u{7F}"], at: once) == "7")
    #expect(try resumed(["7", "8\u{7F}", "9\u{1}"], at: once) == "7")
    #expect(try resumed(["7", "8\u{7F}", "9"], at: once) == "9")
    #expect(try resumed(["7", "8\u{7F}", "9", "10\u{7F}"], at: once) == "9")
    #expect(try resumed(["7", ""], at: once) == "")
    #expect(try resumed(["8\u{7F}"], at: once) == "")
    #expect(try resumed(["8\u{7F}"], from: "3", at: once) == "3")
    #expect(try resumed([], from: "3\u{7F}", at: once) == "")
  }
}

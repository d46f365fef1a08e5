import TestSupport
import Testing

@testable import PusherCore

struct `The place where a stream begins (Mercure, Reconnection and State Reconciliation)` {
  private func resumption(_ asked: String?, _ fields: (String, String)...) -> Resumption? {
    Resumption(of: HTTPHeaders(fields), asked: asked)
  }

  @Test(arguments: ["Mercure-Last-Event-ID", "mercure-last-event-id", "Last-Event-ID"])
  func `another ID than the one asked for is told, by either field`(field: String) throws {
    let other = try #require(resumption("urn:uuid:7", (field, "urn:uuid:5")))
    #expect(other.asked == "urn:uuid:7" && other.answered == "urn:uuid:5")
    #expect(resumption("7", (field, "earliest"))?.answered == "earliest")
    #expect(resumption("7", (field, "7")) == nil)
  }

  @Test func `version 1.0 counts before the drafts, and an empty field is none`() {
    #expect(resumption("7", ("Last-Event-ID", "5"), ("Mercure-Last-Event-ID", "7")) == nil)
    #expect(resumption("7", ("Mercure-Last-Event-ID", "")) == nil)
    let draft = resumption("7", ("Mercure-Last-Event-ID", ""), ("Last-Event-ID", "5"))
    #expect(draft?.answered == "5")
  }

  @Test(arguments: [nil, "", "earliest"])
  func `an answer to no question, and to one for everything, loses nothing`(asked: String?) {
    #expect(resumption(asked, ("Last-Event-ID", "5")) == nil)
    #expect(resumption("7") == nil)
  }

  /// One character, or a letter and an accent, are different IDs to every hub.
  @Test(arguments: [
    ("caf\u{E9}", "cafe\u{301}", true), ("caf\u{E9}", "caf\u{E9}", false), (" 7\t", "7", false),
    ("Earliest", "earliest", true),
  ])
  func `IDs are compared by their bytes, without blanks at the ends`(
    asked: String, answered: String, isOther: Bool
  ) {
    #expect((resumption(asked, ("Last-Event-ID", answered)) != nil) == isOther)
  }

  private func asked(_ query: String?, field: String? = nil) -> String? {
    let url = HTTPURL(scheme: .https, host: "hub", path: "/.well-known/mercure", query: query)
    return Resumption.asked(by: HTTPHeaders(field.map { [("Last-Event-ID", $0)] } ?? []), url)
  }

  @Test(arguments: ["lastEventID", "last_event_id", "Last-Event-ID", "%6CastEventID"])
  func `the URL may name the event, and the field counts before it`(name: String) {
    #expect(asked("topic=a&\(name)=urn%3Auuid%3A7+x") == "urn:uuid:7 x")
    #expect(asked("\(name)=5&topic=a", field: "7") == "7")
  }

  @Test(arguments: [
    nil, "", "topic=a", "lastEventID", "lasteventid=7", "xlastEventID=7", "&&=&", "lastEventID=%",
    "lastEventID=%FF",
  ])
  func `a query that names no event, or one in a broken way, asks for nothing`(query: String?) {
    #expect(asked(query) == nil)
  }
}

struct `Which event a new request can name` {
  @Test(arguments: [
    ("", nil), ("42", nil), ("é \u{A0} \t", nil), (String(repeating: "x", count: 16_384), nil),
    ("8\u{7F}", "has a control character"), ("a\u{1}b", "has a control character"),
    (String(repeating: "x", count: 16_385), "has 16385 bytes, more than the limit of 16384"),
  ])
  func `an id with a control character or over 16 KiB is none`(id: String, reason: String?) {
    #expect(EventID.objection(to: id.utf8) == reason)
    withView(Array(id.utf8)) { #expect(EventID.objection(to: $0) == reason) }
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

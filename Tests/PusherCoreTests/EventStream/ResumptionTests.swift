import Testing

@testable import PusherCore

@Suite("The place where a stream begins (Mercure, Reconnection and State Reconciliation)")
struct ResumptionTests {
  private func resumption(_ asked: String?, _ fields: (String, String)...) -> Resumption? {
    Resumption(of: HTTPHeaders(fields), asked: asked)
  }

  @Test(arguments: ["Mercure-Last-Event-ID", "mercure-last-event-id", "Last-Event-ID"])
  func `another ID than the one asked for is told, by either name of the field`(field: String)
    throws
  {
    let other = try #require(resumption("urn:uuid:7", (field, "urn:uuid:5")))
    #expect(other.asked == "urn:uuid:7" && other.answered == "urn:uuid:5")
    #expect(try #require(resumption("7", (field, "earliest"))).answered == "earliest")
    #expect(resumption("7", (field, "7")) == nil)
  }

  @Test func `version 1.0 counts before the drafts, and an empty field is none`() throws {
    let both = [("Last-Event-ID", "5"), ("Mercure-Last-Event-ID", "7")]
    #expect(Resumption(of: HTTPHeaders(both), asked: "7") == nil)
    #expect(resumption("7", ("Mercure-Last-Event-ID", "")) == nil)
    let draft = resumption("7", ("Mercure-Last-Event-ID", ""), ("Last-Event-ID", "5"))
    #expect(draft?.answered == "5")
  }

  @Test func `an answer to no question, and to one for everything, loses nothing`() {
    #expect(resumption(nil, ("Last-Event-ID", "5")) == nil)
    #expect(resumption("", ("Last-Event-ID", "5")) == nil)
    #expect(resumption("earliest", ("Last-Event-ID", "5")) == nil)
    #expect(resumption("7") == nil)
  }

  @Test func `IDs are compared by their bytes, without blanks at the ends`() {
    // One character, or a letter and an accent: different IDs to every hub.
    #expect(resumption("caf\u{E9}", ("Last-Event-ID", "cafe\u{301}")) != nil)
    #expect(resumption("caf\u{E9}", ("Last-Event-ID", "caf\u{E9}")) == nil)
    #expect(resumption(" 7\t", ("Last-Event-ID", "7")) == nil)
    #expect(resumption("Earliest", ("Last-Event-ID", "earliest")) != nil)
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
  func `a query without such a parameter, or with a broken one, asks for nothing`(query: String?) {
    #expect(asked(query) == nil)
  }
}

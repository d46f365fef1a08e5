import PusherCore
import Testing

@testable import pusher_cli

struct `What is told of a receiver that fails` {
  /// Outcomes of an event, and if its failure was reported before.
  private enum Item {
    case fails(Int)
    case delivered(Int)
    case givenUp(Int)
  }

  /// Returns true for each failure that is reported.
  private func told(_ happenings: Item...) -> [Bool] {
    var report = OutageReport()
    return happenings.map { happening in
      switch happening {
      case .fails(let event): return report.began(event)
      case .delivered(let event): return report.delivered(event)
      case .givenUp(let event):
        report.gaveUp(event)
        return true
      }
    }
  }

  @Test func `the first failure is told, and that it is over`() {
    // Other failing events in the meantime belong to the same report.
    #expect(
      told(
        .delivered(0), .fails(1), .fails(2), .fails(3), .delivered(4), .delivered(1), .delivered(2),
        .fails(5)) == [false, true, false, false, false, true, false, true])
  }

  @Test func `an event that alone is refused is told once, while others are delivered`() {
    #expect(
      told(.fails(1), .delivered(2), .delivered(3), .givenUp(1), .delivered(4))
        == [true, false, false, true, false])
  }

  @Test func `that a receiver works again is told also when the told event was given up`() {
    #expect(
      told(.fails(1), .givenUp(1), .fails(2), .givenUp(2), .delivered(3), .delivered(4))
        == [true, true, false, true, true, false])
  }
}

struct `The requests of --forward` {
  private func requests(_ random: UInt8 = 0) throws -> ForwardRequests {
    ForwardRequests(
      ForwardSettings(
        url: try HTTPURL(parsing: "https://a.test/hook"), headers: [], jobs: 1, prints: false),
      random: [random])
  }

  private func event(_ id: String, _ line: String = "{}") -> HandedEvent {
    HandedEvent(line: Array((line + "\n").utf8), name: "e", id: id)
  }

  private func key(
    _ id: String, _ line: String = "{}", of url: String = "http://s/a?t=1", run: UInt8 = 0
  ) throws -> String? {
    var requests = try requests(run)
    requests.begin(try HTTPURL(parsing: url), after: "")
    let event = event(id, line)
    let hasOwnID = requests.hasOwnID(event)
    return requests.request(event, number: 1, hasOwnID: hasOwnID).headers["Idempotency-Key"]
  }

  @Test func `an event of a stream with an id has the same key in every run`() throws {
    #expect(try key("7") == key("7", run: 1))
    #expect(try key("7")?.utf8.count == 64)
    #expect(try key("7") != key("8") && key("7") != key("7", #"{"a":1}"#))
    #expect(try key("7") != key("7", of: "http://s/a?t=2"))
    // Credentials and arrival time do not matter.
    #expect(try key("7") == key("7", of: "http://me:secret@s/a?t=1"))
    let times = ["2026-11-21T01:39:31.121Z", "2026-11-22T23:59:59.999Z"].map {
      #"{"received_at":"\#($0)","event":"e","id":"7","data":1}"#
    }
    #expect(try key("7", times[0]) == key("7", times[1]))
    #expect(try key("7", times[0]) == key("7", #"{"event":"e","id":"7","data":1}"#))
  }

  @Test func `without an id a request has a key of this run`() throws {
    #expect(try key("") == "00-1" && key("", run: 255) == "ff-1")
  }

  @Test func `only the first event of an id has it, and none has the first of all`() throws {
    var requests = try requests()
    requests.begin(try HTTPURL(parsing: "http://s/"), after: "a")
    let ids = ["a", "b", "b", "", "b", "a", "\u{E9}", "e\u{301}"]
    let own = ids.map { requests.hasOwnID(event($0)) }
    #expect(own == [false, true, false, false, false, true, true, true])
    var channels = try self.requests()
    let isOwn = channels.hasOwnID(event("x"))
    #expect(!isOwn)
  }

  @Test func `the body is the line without its newline`() throws {
    let request = try requests().request(event("", #"{"a":1}"#), number: 2, hasOwnID: false)
    #expect(request.method == "POST" && request.body == Array(#"{"a":1}"#.utf8))
    #expect(request.headers["Idempotency-Key"] == "00-2")
    #expect(request.headers["Pusher-Channel"] == nil)
  }

  @Test func `escaped names come back whole`() {
    for text in ["order.created", "100%", "größe", "\r\n\0\u{7F}", "presence-a@b,c;d=e", "%41"] {
      let value = ForwardRequests.value(text)
      #expect(value?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } == true)
      #expect(PercentEncoding.decode(value ?? "") == text)
    }
    #expect(ForwardRequests.value("") == nil)
    #expect(ForwardRequests.value(String(repeating: "é", count: 342)) == nil)
    #expect(ForwardRequests.value(String(repeating: "é", count: 341)) != nil)
  }
}

struct `The variables of a command of --exec` {
  @Test func `a peer's text is a variable when it has no NUL, and at most 4096 bytes of it`() {
    #expect(EventHook.variable("order.created") == "order.created")
    #expect(EventHook.variable(nil) == "")
    #expect(EventHook.variable("order.created\0.not") == "")
    #expect(EventHook.variable(String(repeating: "x", count: 4097)).utf8.count == 4096)
    // Three bytes per character: a partial character is left out.
    #expect(EventHook.variable(String(repeating: "€", count: 2000)).utf8.count == 4095)
  }
}

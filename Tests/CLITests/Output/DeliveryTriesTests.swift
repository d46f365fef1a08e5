import PusherCore
import Testing

@testable import pusher_cli

@Suite("When an event is sent again, and what is told of it")
struct DeliveryTriesTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  private func tries(_ ceiling: Duration = .seconds(60), patience: Duration? = nil)
    -> DeliveryTries
  {
    DeliveryTries(
      backoff: Backoff(floor: .seconds(1), ceiling: ceiling), patience: patience, at: start)
  }

  @Test func `waits are drawn from a range that doubles, up to the longest`() {
    var tries = tries()
    for upper in [2, 4, 8, 16, 32, 60, 60] {
      tries.begin()
      #expect(tries.next(at: start, retryAfter: nil, random: 0) == start.advanced(by: .seconds(1)))
      #expect(
        tries.next(at: start, retryAfter: nil, random: .max) == start.advanced(by: .seconds(upper)))
    }
    #expect(tries.count == 7)
  }

  @Test func `a longer wait that the receiver asks for counts, up to the longest`() {
    var tries = tries()
    tries.begin()
    func wait(_ seconds: Int) -> Duration {
      tries.wait(retryAfter: .seconds(seconds), random: 0)
    }
    #expect(
      [0, 1, 2, 59, 60, 61, 86_400].map(wait) == [1, 1, 2, 59, 60, 60, 60].map(Duration.seconds))
  }

  @Test func `a try that would begin at the deadline or later is none`() {
    var tries = tries(patience: .seconds(10))
    tries.begin()
    let last = start.advanced(by: .nanoseconds(8_999_999_999))
    #expect(tries.next(at: last, retryAfter: nil, random: 0) == last.advanced(by: .seconds(1)))
    #expect(
      tries.next(at: start.advanced(by: .seconds(9)), retryAfter: nil, random: 0) == nil)
    #expect(tries.next(at: start, retryAfter: .seconds(10), random: 0) == nil)
    #expect(tries.deadline == start.advanced(by: .seconds(10)))
    #expect(self.tries().deadline == nil)
  }

  /// What happens to an event, and whether it is one whose failure was told.
  private enum Happening {
    case fails
    case delivered(wasTold: Bool)
    case givenUp(wasTold: Bool)
  }

  /// Which of these are told.
  private func told(_ happenings: Happening...) -> [Bool] {
    var report = OutageReport()
    return happenings.map { happening in
      switch happening {
      case .fails: return report.began()
      case .delivered(let wasTold): return report.delivered(wasTold: wasTold)
      case .givenUp(let wasTold):
        report.gaveUp(wasTold: wasTold)
        return true
      }
    }
  }

  @Test func `the first failure is told, and that it is over`() {
    // Others that fail meanwhile are the same news.
    #expect(
      told(
        .delivered(wasTold: false), .fails, .fails, .fails, .delivered(wasTold: false),
        .delivered(wasTold: true), .delivered(wasTold: false), .fails)
        == [false, true, false, false, false, true, false, true])
  }

  @Test func `an event that alone is refused is told once, while others are delivered`() {
    #expect(
      told(
        .fails, .delivered(wasTold: false), .delivered(wasTold: false), .givenUp(wasTold: true),
        .delivered(wasTold: false)) == [true, false, false, true, false])
  }

  @Test func `that a receiver works again is told also when the told event was given up`() {
    #expect(
      told(
        .fails, .givenUp(wasTold: true), .fails, .givenUp(wasTold: false),
        .delivered(wasTold: false), .delivered(wasTold: false))
        == [true, true, false, true, true, false])
  }
}

@Suite("The requests of --forward")
struct ForwardRequestsTests {
  private func requests(
    _ random: UInt8 = 0, _ keyRule: ForwardSettings.KeyRule = .run
  ) throws -> ForwardRequests {
    ForwardRequests(
      ForwardSettings(
        url: try HTTPURL(parsing: "https://a.test/hook"), headers: [], jobs: 1, keyRule: keyRule,
        prints: false),
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
    // Who logs in for it does not matter, nor when it came.
    #expect(try key("7") == key("7", of: "http://me:secret@s/a?t=1"))
    let times = ["2026-11-21T01:39:31.121Z", "2026-11-22T23:59:59.999Z"].map {
      #"{"received_at":"\#($0)","event":"e","id":"7","data":1}"#
    }
    #expect(try key("7", times[0]) == key("7", times[1]))
    #expect(try key("7", times[0]) == key("7", #"{"event":"e","id":"7","data":1}"#))
  }

  @Test func `without one it has a key of this run`() throws {
    #expect(try key("") == "00-1" && key("", run: 255) == "ff-1")
  }

  @Test func `by content it is that of the line and the second, in every run`() throws {
    func key(_ line: String, at time: String, run: UInt8 = 0) throws -> String? {
      var event = event("", line)
      event.receivedAt = time
      return try requests(run, .content).request(event, number: Int(run), hasOwnID: false)
        .headers["Idempotency-Key"]
    }
    let (line, time) = (#"{"event":"e","channel":"a","data":1}"#, "2026-11-22T23:59:58.001Z")
    let one = try key(line, at: time)
    #expect(one?.utf8.count == 64)
    #expect(try one == key(line, at: "2026-11-22T23:59:58.999Z", run: 9))
    #expect(try one != key(line, at: "2026-11-22T23:59:59.001Z"))
    for other in [
      #"{"event":"f","channel":"a","data":1}"#, #"{"event":"e","channel":"b","data":1}"#,
      #"{"event":"e","channel":"a","data":2}"#,
    ] {
      #expect(try one != key(other, at: time))
    }
    // The time that -t writes into the line does not matter.
    let stamped = #"{"received_at":"\#(time)","event":"e","channel":"a","data":1}"#
    let later = #"{"received_at":"2026-11-22T23:59:58.002Z","event":"e","channel":"a","data":1}"#
    #expect(try key(stamped, at: time) == key(later, at: time))
    #expect(try key(stamped, at: time) == one)
  }

  @Test
  func `only the first event of an id has it for its own, and none has that of the beginning`()
    throws
  {
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

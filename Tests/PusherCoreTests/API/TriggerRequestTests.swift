import PusherCore
import Testing

@Suite("HTTP API, POST event")
struct TriggerRequestTests {
  private func body(_ request: TriggerRequest) throws -> String {
    String(decoding: try request.request(appID: "3").body ?? [], as: UTF8.self)
  }

  @Test func `an event becomes a call with its data as a string`() throws {
    let request = TriggerRequest(name: "foo", channels: ["a", "b"], data: #"{"k":1}"#)
    #expect(try body(request) == #"{"name":"foo","channels":["a","b"],"data":"{\"k\":1}"}"#)
    let call = try request.request(appID: "3", prefix: "/ws")
    #expect(call.method == "POST")
    #expect(call.path == "/ws/apps/3/events")
  }

  @Test func `the excluded socket and the wanted information stand in the body`() throws {
    let request = TriggerRequest(
      name: "foo", channels: ["a"], data: "x", socketID: "12345678901.2",
      info: ["user_count", "subscription_count"])
    #expect(
      try body(request)
        == #"{"name":"foo","channels":["a"],"data":"x","socket_id":"12345678901.2","#
        + #""info":"user_count,subscription_count"}"#)
  }

  @Test(arguments: [0, 1, 100, 101])
  func `up to a hundred channels are named`(count: Int) throws {
    let request = TriggerRequest(
      name: "e", channels: (0..<count).map { "c\($0)" }, data: "")
    switch count {
    case 0: #expect(throws: TriggerError.noChannel) { try request.request(appID: "1") }
    case 101:
      #expect(throws: TriggerError.tooManyChannels(count: 101, limit: 100)) {
        try request.request(appID: "1")
      }
    default: _ = try request.request(appID: "1")
    }
  }

  @Test func `names are checked and the error names the limit`() throws {
    func error(_ request: TriggerRequest) -> String? {
      do throws(TriggerError) {
        _ = try request.request(appID: "1")
        return nil
      } catch {
        return error.description
      }
    }
    func named(_ name: String) -> TriggerRequest {
      TriggerRequest(name: name, channels: ["c"], data: "")
    }
    #expect(error(named(String(repeating: "e", count: 200))) == nil)
    #expect(
      error(named(String(repeating: "e", count: 201)))
        == "an event name has at most 200 bytes; this one has 201")
    #expect(error(named("")) == "an event name cannot be empty")
    #expect(
      error(TriggerRequest(name: "e", channels: ["a b"], data: ""))?.contains("channel 'a b'")
        == true)
    #expect(
      error(TriggerRequest(name: "e", channels: ["private-encrypted-a", "b"], data: ""))
        == "an event for an encrypted channel cannot go to other channels")
    #expect(
      error(TriggerRequest(name: "e", channels: ["private-encrypted-a"], data: "")) == nil)
  }

  @Test(arguments: [
    ("1.2", true), ("12345678901.98765432109", true), ("1", false), ("1.", false), (".1", false),
    ("1.2.3", false), ("a.1", false), ("", false), ("1.2\n", false), ("-1.2", false),
  ])
  func `a socket id is two numbers with a dot`(text: String, isValid: Bool) {
    #expect(SocketID.isValid(text) == isValid)
  }

  @Test func `data of any length is left to the server`() throws {
    let data = String(repeating: "x", count: 10_241)
    _ = try TriggerRequest(name: "e", channels: ["c"], data: data).request(appID: "1")
  }
}

@Suite("HTTP API, answers")
struct APIAnswerTests {
  @Test(arguments: [
    (200, APIAnswer.accepted(body: "words")), (202, .accepted(body: "words")),
    (400, .rejected(status: 400, reason: "words")), (401, .refused(status: 401, reason: "words")),
    (403, .refused(status: 403, reason: "words")), (404, .rejected(status: 404, reason: "words")),
    (413, .rejected(status: 413, reason: "words")),
    (429, .unavailable(status: 429, reason: "words")),
    (500, .unavailable(status: 500, reason: "words")),
    (503, .unavailable(status: 503, reason: "words")),
    (301, .unexpected(status: 301, reason: "words")),
  ])
  func `an answer is sorted by its status`(status: Int, answer: APIAnswer) {
    #expect(APIAnswer(status: status, body: Array("words".utf8)) == answer)
  }

  @Test func `the server's words are shown on one line`() {
    func reason(_ body: String) -> String {
      guard case .rejected(_, let reason) = APIAnswer(status: 400, body: Array(body.utf8)) else {
        return "?"
      }
      return reason
    }
    #expect(reason("  one\r\n two\u{1B}[31m\n") == "one two [31m")
    #expect(reason(#"{"error":"too big","code":413}"#) == "too big")
    #expect(reason(#"{"message":"no"}"#) == "no")
    #expect(reason(#"{"other":1}"#) == #"{"other":1}"#)
    #expect(reason(String(repeating: "x", count: 10_000)).count == 500)
  }
}

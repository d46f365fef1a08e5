import PusherCore
import Testing

struct `HTTP API, POST event` {
  private static let long = String(repeating: "x", count: 10_241)

  @Test(arguments: [
    (
      TriggerRequest(name: "foo", channels: ["a", "b"], data: #"{"k":1}"#),
      #"{"name":"foo","channels":["a","b"],"data":"{\"k\":1}"}"#
    ),
    (
      TriggerRequest(
        name: "foo", channels: ["a"], data: "x", socketID: "12345678901.2",
        info: ["user_count", "subscription_count"]),
      #"{"name":"foo","channels":["a"],"data":"x","socket_id":"12345678901.2","info":"user_count,subscription_count"}"#
    ),
    // Data of any length is left to the server.
    (
      TriggerRequest(name: "e", channels: ["c"], data: long),
      #"{"name":"e","channels":["c"],"data":"\#(long)"}"#
    ),
  ])
  func `an event becomes a call, with its data as a string, excluded socket and wanted information`(
    request: TriggerRequest, body: String
  ) throws {
    let call = try request.request(appID: "3")
    #expect(call.method == "POST" && call.path == "/apps/3/events")
    #expect(String(decoding: call.body ?? [], as: UTF8.self) == body)
  }

  @Test(
    arguments: [
      (String(repeating: "e", count: 200), ["c"], nil),
      (
        String(repeating: "e", count: 201), ["c"],
        "an event name has at most 200 bytes; this one has 201"
      ),
      ("", ["c"], "an event name cannot be empty"), ("e", ["a b"], "channel 'a b': "),
      (
        "e", ["private-encrypted-a", "b"],
        "an event for an encrypted channel cannot go to other channels"
      ),
      ("e", ["private-encrypted-a"], nil),
      ("e", [], "\(TriggerError.noChannel)"), ("e", channels(100), nil),
      ("e", channels(101), "\(TriggerError.tooManyChannels(count: 101, limit: 100))"),
    ] as [(String, [String], String?)])
  func `names and up to a hundred channels are checked, and the error names the limit`(
    name: String, channels: [String], problem: String?
  ) {
    var found: String?
    do throws(TriggerError) {
      _ = try TriggerRequest(name: name, channels: channels, data: "").request(appID: "1")
    } catch {
      found = error.description
    }
    #expect(found == problem || problem.map { found?.hasPrefix($0) } == true)
  }

  private static func channels(_ count: Int) -> [String] { (0..<count).map { "c\($0)" } }

  @Test(arguments: [
    ("1.2", true), ("12345678901.98765432109", true), ("1", false), ("1.", false), (".1", false),
    ("1.2.3", false), ("a.1", false), ("", false), ("1.2\n", false), ("-1.2", false),
    ("1.2; echo x", false), (String(repeating: "1", count: 120) + ".2", false),
  ])
  func `a socket id is two numbers with a dot`(text: String, isValid: Bool) {
    #expect(SocketID.isValid(text) == isValid)
  }
}

struct `HTTP API, answers` {
  @Test(arguments: [
    (200, APIAnswer.accepted(body: "words")), (202, .accepted(body: "words")),
    (400, .rejected(status: 400, reason: "words")),
    (401, .refused(status: 401, reason: "words", .signature)),
    (403, .refused(status: 403, reason: "words", .signature)),
    (404, .rejected(status: 404, reason: "words")),
    (413, .rejected(status: 413, reason: "words")),
    (429, .unavailable(status: 429, reason: "words")),
    (500, .unavailable(status: 500, reason: "words")),
    (503, .unavailable(status: 503, reason: "words")),
    (301, .unexpected(status: 301, reason: "words")),
  ])
  func `an answer is sorted by its status`(status: Int, answer: APIAnswer) {
    #expect(Self.answer(status, "words") == answer)
  }

  @Test func `the server's words are shown on one line`() {
    func reason(_ body: String) -> String {
      guard case .rejected(_, let reason) = Self.answer(400, body) else {
        return "?"
      }
      return reason
    }
    #expect(reason("  one\r\n two\u{1B}[31m\n") == "one two [31m")
    #expect(reason(#"{"error":"too big","code":413}"#) == "too big")
    #expect(reason(#"{"message":"no"}"#) == "no")
    #expect(reason(#"{"other":1}"#) == #"{"other":1}"#)
    #expect(reason(String(repeating: "x", count: 10_000)).count == 301)
  }

  private static func answer(_ status: Int, _ body: String, prefix: String = "") -> APIAnswer {
    let head = HTTPResponseHead(status: status, reason: "")
    return APIAnswer(HTTPExchange.Response(head: head, body: Array(body.utf8)), prefix: prefix)
  }

  @Test func `a page is called by its title, and does not blame the signature`() {
    let page = "<html><style>b { color: red }</style><title>403 &amp; closed</title><h1>No</h1>"
    let reason = "page '403 & closed'"
    #expect(Self.answer(403, page) == .refused(status: 403, reason: reason, .page))
  }

  @Test func `the quoted text to sign tells which prefix the server sees`() {
    func refusal(_ path: String, prefix: String) -> APIRefusal? {
      let text =
        #"Invalid signature: you should have sent HmacSHA256Hex("POST\n\#(path)\nauth_key=k", x)"#
      guard case .refused(_, _, let refusal) = Self.answer(401, text, prefix: prefix) else {
        return nil
      }
      return refusal
    }
    #expect(refusal("/apps/1/events", prefix: "/ws") == .prefix(ofServer: ""))
    #expect(refusal("/ws/apps/1/events", prefix: "") == .prefix(ofServer: "/ws"))
    #expect(refusal("/ws/apps/1/events", prefix: "/ws") == .signature)
    #expect(refusal("/apps/1/events", prefix: "") == .signature)
  }
}

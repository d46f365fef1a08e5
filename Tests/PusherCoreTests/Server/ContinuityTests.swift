import PusherCore
import PusherServer
import TestSupport
import Testing

/// Protocol V2 on `serve`: sockudo's pages "Protocol V2" and "History and recovery".
struct `Protocol V2 of the server` {
  private let hub = Hub.forTests { $0.recoveryEvents = 3 }

  private func publish(_ numbers: ClosedRange<Int>, on channel: String = "a", at now: Int = 0) {
    for number in numbers {
      hub.publish(
        name: "e", channel: channel, data: .string("\(number)"), at: .after(seconds: now))
    }
  }

  private func event(_ number: Int, serial: Int? = nil, stream: String = "life-1") -> String {
    let serial = serial ?? number
    return #"{"event":"e","channel":"a","data":"\#(number)","message_id":"\#(stream)-\#(serial)","#
      + #""stream_id":"\#(stream)","serial":\#(serial)}"#
  }

  private func success(_ recovered: String = "", failed: String = "") -> String {
    let data = #"{"recovered":[\#(recovered)],"failed":[\#(failed)]}"#
    return #"{"event":"sockudo:resume_success","data":\#(JSONWriter.text(.string(data)))}"#
  }

  private func recovered(_ count: Int, upTo serial: Int) -> String {
    #"{"channel":"a","source":"hot","replayed":\#(count),"position":{"stream_id":"life-1","#
      + #""serial":\#(serial),"last_message_id":"life-1-\#(serial)"}}"#
  }

  private func failed(_ code: String, _ reason: String, _ rest: String) -> [String] {
    let data = #"{"channel":"a","code":"\#(code)","reason":"\#(reason)",\#(rest)}"#
    let text = JSONWriter.text(.string(data))
    return [#"{"event":"sockudo:resume_failed","data":\#(text)}"#, success(failed: data)]
  }

  private func resume(from serial: Int, stream: String = "life-1", on channel: String = "a")
    -> String
  {
    #"{"event":"sockudo:resume","data":{"channel_positions":{"\#(channel)":{"stream_id":"#
      + #""\#(stream)","serial":\#(serial),"last_message_id":"x"}}}}"#
  }

  // MARK: Messages

  @Test func `only clients of V2 get its names, ids and serials`() {
    let old = hub.client("1.1")
    old.subscribe("a")
    old.expect(#"{"event":"pusher_internal:subscription_succeeded","channel":"a","data":"{}"}"#)
    publish(1...1)
    old.expect(#"{"event":"e","channel":"a","data":"1"}"#)
    hub.beginStreams(life: "life")
    let new = HubClient(hub, "1.2", context: SessionContext(), speaksV2: true)
    new.expect(
      #"{"event":"sockudo:connection_established","data":"{\"socket_id\":\"1.2\","#
        + #"\"activity_timeout\":120}"}"#)
    new.subscribeV2("a")
    // The event before the first client of V2 has no serial.
    new.expect(
      #"{"event":"sockudo_internal:subscription_succeeded","channel":"a","data":"{}","#
        + #""stream_id":"life-1","serial":0}"#)
    publish(2...2)
    old.expect(#"{"event":"e","channel":"a","data":"2"}"#)
    new.expect(event(2, serial: 1))
    new.send(#"{"event":"sockudo:ping","data":{}}"#)
    new.expect(#"{"event":"sockudo:pong","data":"{}"}"#)
    new.send(#"{"event":"pusher:ping","data":{}}"#)
    #expect(new.texts().first?.contains("sockudo:error") == true)
  }

  @Test func `members of a presence channel are told in the names of each protocol`() {
    let clients = [hub.client("1.1"), hub.v2Client("1.2"), hub.client("1.3")]
    for (user, client) in clients.enumerated() {
      client.join(
        "presence-a", as: "\(user)", service: client.session.speaksV2 ? .sockudoTest : .pusher)
    }
    #expect(
      clients[0].names().suffix(2) == .init(repeating: "pusher_internal:member_added", count: 2))
    #expect(
      clients[1].texts().last
        == #"{"event":"sockudo_internal:member_added","channel":"presence-a","#
        + #""data":"{\"user_id\":\"2\"}"}"#)
  }

  @Test func `events are numbered also without subscribers`() {
    _ = hub.v2Client()
    publish(1...2)
    let client = hub.v2Client("1.2")
    client.subscribeV2("a")
    #expect(client.texts().last?.hasSuffix(#""stream_id":"life-1","serial":2}"#) == true)
  }

  // MARK: Resuming

  @Test func `a client that was away gets what it missed, once and in order`() {
    let first = hub.v2Client()
    first.subscribeV2("a")
    publish(1...1)
    first.lose()
    publish(2...3)
    let client = hub.v2Client("1.2")
    client.subscribeV2("a")
    _ = client.texts()
    client.send(resume(from: 1))
    client.expect(event(2), event(3), success(recovered(2, upTo: 3)))
    publish(4...4)
    client.expect(event(4))
    client.send(resume(from: 4))
    client.expect(success(recovered(0, upTo: 4)))
  }

  @Test func `a request to resume waits for the subscription`() {
    let first = hub.v2Client()
    publish(1...2)
    _ = first
    let client = hub.v2Client("1.2")
    client.send(resume(from: 1))
    client.expect()
    client.subscribeV2("a")
    client.expect(
      #"{"event":"sockudo_internal:subscription_succeeded","channel":"a","data":"{}","#
        + #""stream_id":"life-1","serial":2}"#, event(2), success(recovered(1, upTo: 2)))
  }

  @Test func `a channel without a subscription is not sent`() {
    let client = hub.v2Client()
    publish(1...2, on: "private-a")
    client.send(resume(from: 0, on: "private-a"))
    client.send(#"{"event":"sockudo:subscribe","data":{"auth":"x","channel":"private-a"}}"#)
    #expect(
      client.names().suffix(3) == [
        "sockudo:error", "sockudo:resume_failed", "sockudo:resume_success",
      ])
    client.send(resume(from: 0, on: "private-a"))
    client.expect()
    hub.tick(at: .after(seconds: 10))
    #expect(client.names() == ["sockudo:resume_failed", "sockudo:resume_success"])
  }

  @Test func `a position that cannot be continued fails with its reason`() {
    let client = hub.v2Client()
    client.subscribeV2("a")
    publish(1...5)
    _ = client.texts()
    func expect(_ code: String, _ reason: String, _ expected: String, _ message: String) {
      let rest =
        #""expected_stream_id":\#(expected),"current_stream_id":"life-1","#
        + #""oldest_available_serial":3,"newest_available_serial":5"#
      #expect(client.answers(to: message) == failed(code, reason, rest))
    }
    let own = #""life-1""#
    expect("position_expired", "recovery_window_exceeded", own, resume(from: 1))
    expect(
      "position_expired", "recovery_window_exceeded", #""life-0""#,
      resume(from: 5, stream: "life-0"))
    expect("stream_reset", "stream_id_mismatch", #""other-1""#, resume(from: 5, stream: "other-1"))
    expect("continuity_unverifiable", "position_ahead_of_stream", own, resume(from: 6))
    client.send(resume(from: 2))
    client.expect(event(3), event(4), event(5), success(recovered(3, upTo: 5)))
  }

  @Test(arguments: ["9007199254740993", "-1", "1.5", #""1""#, "99999999999999999999", "null", "{}"])
  func `a serial that is no serial fails`(serial: String) {
    let client = hub.v2Client()
    client.subscribeV2("a")
    _ = client.texts()
    client.send(
      #"{"event":"sockudo:resume","data":{"channel_positions":{"a":{"stream_id":"life-1","#
        + #""serial":\#(serial)}}}}"#)
    let rest =
      #""expected_stream_id":"life-1","current_stream_id":"life-1","#
      + #""oldest_available_serial":null,"newest_available_serial":0"#
    client.expect(failed("continuity_unverifiable", "invalid_position", rest))
  }

  @Test(arguments: [
    "null", "[]", "{}", #"{"channel_positions":[]}"#, #"{"channel_positions":{}}"#, "7",
  ])
  func `a request without positions gets 4302`(data: String) {
    let client = hub.v2Client()
    client.send(#"{"event":"sockudo:resume","data":\#(data)}"#)
    client.expect(
      #"{"event":"sockudo:error","data":{"code":4302,"#
        + #""message":"No channel recovery positions provided"}}"#)
  }

  @Test func `ten thousand channels are answered once each`() {
    let client = hub.v2Client()
    let names = (0..<3000).map { #""c\#($0)":{}"# }.joined(separator: ",")
    client.send(#"{"event":"sockudo:resume","data":{"channel_positions":{\#(names)}}}"#)
    client.expect()
    hub.tick(at: .after(seconds: 10))
    let answers = client.names()
    #expect(answers.filter { $0 == "sockudo:resume_failed" }.count == 3000)
    #expect(answers.last == "sockudo:resume_success")
    #expect(client.session.isOpen)
  }

  @Test func `without recovery, a client gets no positions, and 4301`() {
    let hub = Hub.forTests { $0.recoveryEvents = 0 }
    let client = hub.v2Client()
    client.subscribeV2("a")
    hub.publish(name: "e", channel: "a", data: "1")
    client.send(resume(from: 0))
    client.expect(
      #"{"event":"sockudo_internal:subscription_succeeded","channel":"a","data":"{}"}"#,
      #"{"event":"e","channel":"a","data":"1"}"#,
      #"{"event":"sockudo:error","data":{"code":4301,"message":"Connection recovery is not enabled"}}"#
    )
  }

  @Test func `a client of V1 cannot resume`() {
    let client = hub.client()
    client.send(resume(from: 0).replacing("sockudo", with: "pusher"))
    #expect(client.texts().first?.contains("Unknown event 'pusher:resume'") == true)
  }

  // MARK: Bounds

  @Test func `an event older than the window is gone, a stream stays for one window more`() {
    let client = hub.v2Client()
    client.subscribeV2("a")
    publish(1...1)
    publish(2...2, at: 100)
    _ = client.texts()
    client.now = .after(seconds: 121)
    client.send(resume(from: 0))
    #expect(client.names() == ["sockudo:resume_failed", "sockudo:resume_success"])
    client.send(resume(from: 1))
    #expect(client.texts().first == event(2))
    // An occupied channel keeps its stream for any time.
    for second in stride(from: 130, to: 1000, by: 10) { hub.tick(at: .after(seconds: second)) }
    client.now = .after(seconds: 1000)
    client.send(resume(from: 2))
    client.expect(success(recovered(0, upTo: 2)))
    client.lose()
    let next = hub.v2Client("1.2")
    for second in stride(from: 1001, to: 1110, by: 10) { hub.tick(at: .after(seconds: second)) }
    next.now = .after(seconds: 1110)
    next.subscribeV2("a")
    #expect(next.texts().last?.hasSuffix(#""stream_id":"life-1","serial":2}"#) == true)
    next.unsubscribeV2("a")
    for second in stride(from: 1111, to: 1300, by: 10) { hub.tick(at: .after(seconds: second)) }
    next.now = .after(seconds: 1300)
    next.send(resume(from: 2))
    next.subscribeV2("a")
    #expect(next.texts().contains { $0.contains("position_expired") && $0.contains("life-2") })
  }

  @Test func `the oldest events of the app go first, and a flood of channels stays in bounds`() {
    let hub = Hub.forTests { limits in limits.sizes.recovery = 100_000 }
    let client = hub.v2Client()
    for number in 0..<10_000 {
      hub.publish(name: "e", channel: "c\(number % 1000)", data: "x")
      if number % 1000 == 0 { hub.tick(at: .after(seconds: 0)) }
    }
    hub.tick(at: .after(seconds: 0))
    client.subscribeV2("c1", rewind: "100")
    client.subscribeV2("c999", rewind: "100")
    let events = client.texts().filter { $0.hasPrefix(#"{"event":"e""#) }
    #expect(events.count == 1 && events[0].contains(#""channel":"c999""#))
    let completes = client.texts()
    #expect(completes.isEmpty)
  }

  @Test func `once clients of V2 are away for a window, nothing is kept`() {
    let client = hub.v2Client()
    client.lose()
    #expect(hub.keepsStreams)
    hub.tick(at: .after(seconds: 121))
    #expect(!hub.keepsStreams)
    let next = hub.v2Client("1.2")
    next.subscribeV2("a", rewind: "1")
    #expect(next.texts().last?.contains(#"\"truncated_by_retention\":true"#) == true)
  }

  @Test func `a replay of more than the client's queue closes the connection`() {
    let hub = Hub.forTests { $0.recoveryEvents = 1000 }
    _ = hub.v2Client()
    for _ in 0..<600 {
      hub.publish(name: "e", channel: "a", data: .string(String(repeating: "x", count: 10_000)))
    }
    let client = hub.v2Client("1.2")
    client.subscribeV2("a", rewind: "1000")
    #expect(client.closeCode() == 4100)
  }

  @Test(arguments: [("expire-window", "position_expired"), ("reset-stream", "stream_reset")])
  func `a staged loss fails the next resume, and no other`(fault: String, code: String) throws {
    let context = SessionContext()
    context.faults.add([try StagedFault(parsing: "\(fault):channel=a,times=1")])
    let client = hub.v2Client(context: context)
    client.subscribeV2("a")
    publish(1...2)
    _ = client.texts()
    client.send(resume(from: 2))
    let failure = try #require(client.texts().first)
    #expect(failure.contains(code) && failure.contains("resume_failed"))
    let stream = code == "stream_reset" ? "life-2" : "life-1"
    publish(3...3)
    let serial = code == "stream_reset" ? 1 : 3
    client.expect(event(3, serial: serial, stream: stream))
    client.send(resume(from: serial, stream: stream))
    #expect(client.texts().first?.contains(#"\"failed\":[]"#) == true)
  }

  // MARK: Rewinding

  @Test(arguments: [
    ("2", [4, 5], true, ""), (#"{"count":2}"#, [4, 5], true, ""),
    ("3", [3, 4, 5], true, ""), ("4", [3, 4, 5], false, "limit"),
    (#"{"seconds":5}"#, [5], true, ""), (#"{"seconds":60}"#, [3, 4, 5], false, "limit"),
    ("0", [], true, ""),
  ])
  func `a subscription of V2 begins with earlier events`(
    rewind: String, numbers: [Int], complete: Bool, cut: String
  ) {
    _ = hub.v2Client()
    publish(1...4)
    publish(5...5, at: 10)
    let client = hub.v2Client("1.2")
    client.now = .after(seconds: 12)
    client.subscribeV2("a", rewind: rewind)
    let data =
      #"{"historical_count":\#(numbers.count),"live_count":0,"complete":\#(complete),"#
      + #""truncated_by_retention":false,"truncated_by_limit":\#(cut == "limit")}"#
    client.expect(
      [
        #"{"event":"sockudo_internal:subscription_succeeded","channel":"a","data":"{}","#
          + #""stream_id":"life-1","serial":5}"#
      ] + numbers.map { event($0) } + [
        #"{"event":"sockudo:rewind_complete","channel":"a","data":\#(JSONWriter.text(.string(data)))}"#
      ])
  }

  @Test(arguments: ["-1", "true", #""5""#, "[]", "{}", #"{"count":-1}"#, "1e99"])
  func `a rewind that is no number is refused`(rewind: String) {
    let client = hub.v2Client()
    client.subscribeV2("a", rewind: rewind)
    #expect(client.texts().first?.contains("rewind is neither") == true)
    #expect(hub.subscriptionCount("a") == 0)
  }
}

extension PusherService {
  fileprivate static let sockudoTest = PusherService(
    eventPrefix: "sockudo:", internalPrefix: "sockudo_internal:", clusterHost: "",
    clusterAPIHost: "", defaultCluster: "", protocolVersion: 2)
}

extension Instant {
  fileprivate static func after(seconds: Int) -> Instant {
    Instant(nanoseconds: 0).advanced(by: .seconds(seconds))
  }
}

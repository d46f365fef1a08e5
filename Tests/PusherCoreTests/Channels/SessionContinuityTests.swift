import PusherCore
import TestSupport
import Testing

/// Protocol V2 of sockudo: sections "Connection recovery" and "Rewind" of its documentation.
struct SessionContinuityTests {
  @Test func `after a loss one resume asks for the events after the positions of all channels`() {
    var client = StreamClient(["orders", "news"])
    client.open("orders", 41)
    client.open("news", 7)
    #expect(client.take(event(42)) == ["42"])
    #expect(client.renew() == [])
    #expect(client.open("orders", 45) == [])
    #expect(
      client.open("news", 7) == [
        #"{"event":"sockudo:resume","data":{"channel_positions":{"orders":{"stream_id":"s","serial":42,"last_message_id":"m42"},"news":{"stream_id":"s","serial":7}}}}"#
      ])
    #expect(
      client.take(event(43)) + client.take(event(44)) + client.take(event(45)) == [
        "43", "44", "45",
      ])
    #expect(
      client.take(success(["orders", "news"], [3, 0], [45, 7])) == [
        "recovered orders 3", "recovered news 0",
      ])
    #expect(client.take(event(46)) == ["46"])
  }

  static let scripts: [(name: String, server: [String], told: [String])] = [
    ("an event comes twice", [event(42), event(42)], ["42"]),
    (
      "an event comes twice, the second time late", [event(42), event(43), event(42)], ["42", "43"]
    ),
    (
      "another event has the same serial", [event(42), event(42, id: "x")],
      ["42", "gap after 42: serial 42 came after 42", "42"]
    ),
    (
      "serials go back", [event(42), event(12)],
      ["42", "gap after 42: serial 12 came after 42", "12"]
    ),
    (
      "a serial is left out", [event(42), event(44)],
      ["42", "gap after 42: serial 43 did not come", "44"]
    ),
    (
      "serials jump", [event(45), event(46)],
      ["gap after 41: serials 42 to 44 did not come", "45", "46"]
    ),
    (
      "serials exceed 2^53", [event(9_007_199_254_740_993)],
      [
        "gap after 41: an event has no serial up to 2^53, or an ID above 255 bytes",
        "9007199254740993",
      ]
    ),
    (
      "a serial is a text", [#"{"event":"e","channel":"orders","data":"1","serial":"42"}"#],
      ["gap after 41: an event has no serial up to 2^53, or an ID above 255 bytes", "1"]
    ),
    (
      "another stream begins", [event(42), event(1, stream: "t"), event(2, stream: "t")],
      ["42", "gap after 42: another stream began", "1", "2"]
    ),
    (
      "an event has no serial",
      [#"{"event":"client-e","channel":"orders","data":"1"}"#, event(42)],
      ["1", "42"]
    ),
    (
      "success comes without a question", [success(["orders"], [0], [41])],
      ["bad an answer to a resume for 'orders', which asked for none"]
    ),
  ]

  @Test(arguments: scripts)
  func `on one connection every break of the order is told before the event after it`(
    _ name: String, _ server: [String], _ told: [String]
  ) {
    var client = StreamClient(["orders"])
    client.open("orders", 41)
    #expect(server.flatMap { client.take($0) } == told, "\(name)")
  }

  static let answers: [(name: String, server: [String], told: [String])] = [
    ("whole", [event(42), success(["orders"], [1], [42])], ["42", "recovered 1"]),
    ("whole, without a position", [event(42), success(["orders"], [1])], ["42", "recovered 1"]),
    (
      "a live event comes before the missed ones",
      [event(44), event(42), event(43), success(["orders"], [2], [43]), event(45)],
      ["42", "43", "recovered 2", "44", "45"]
    ),
    (
      "the live event is replayed too",
      [event(44), event(42), event(43), event(44), success(["orders"], [3], [44])],
      ["42", "43", "44", "recovered 3"]
    ),
    (
      "events come twice", [event(42), event(42), success(["orders"], [2], [42])],
      ["42", "recovered 1"]
    ),
    (
      "success without the events", [success(["orders"], [2], [43]), event(44)],
      ["gap after 41: the server counts 2 replayed events, and 0 came", "44"]
    ),
    (
      "success with too few events", [event(42), success(["orders"], [1], [43])],
      ["42", "gap after 42: the server replayed up to serial 43, and 42 came last"]
    ),
    (
      "success in another stream", [success(["orders"], [0], [41], stream: "t")],
      ["gap after 41: the server's position is of another stream"]
    ),
    (
      "success with a hole in the events", [event(42), event(44), success(["orders"], [2], [44])],
      ["42", "gap after 42: the server replayed up to serial 44, and 42 came last", "44"]
    ),
    (
      "success leaves the channel out", [success([], [])],
      ["gap after 41: the server's answer leaves the channel out"]
    ),
    (
      "success for a channel that was not asked for",
      [event(42), success(["orders", "news"], [1, 9], [42, 9])],
      ["42", "recovered 1", "bad an answer to a resume for 'news', which asked for none"]
    ),
    (
      "an event of before the loss comes again", [event(30), success(["orders"], [1], [41])],
      ["gap after 41: serial 30 came after 41", "gap after 43: serial 30 came after 43", "30"]
    ),
    (
      "the window has passed",
      [
        #"{"event":"sockudo:resume_failed","data":{"channel":"orders","code":"position_expired","reason":"recovery_window_exceeded","expected_stream_id":"s","oldest_available_serial":90}}"#,
        success([], []), event(44),
      ],
      ["gap after 41: position_expired recovery_window_exceeded from 90", "44"]
    ),
    (
      "events come after the failure",
      [
        #"{"event":"sockudo:resume_failed","data":"{\"channel\":\"orders\",\"code\":\"stream_reset\"}"}"#,
        event(42),
      ],
      [
        "gap after 41: stream_reset the server gives no reason",
        "gap after 43: serial 42 came after 43", "42",
      ]
    ),
    (
      "recovery is off",
      [
        #"{"event":"sockudo:error","data":{"code":4301,"message":"Connection recovery is not enabled"}}"#
      ],
      ["gap after 41: 4301 Connection recovery is not enabled"]
    ),
    (
      "the server saw no position",
      [
        #"{"event":"sockudo:error","data":{"code":4302,"message":"No channel recovery positions provided"}}"#
      ],
      ["gap after 41: 4302 No channel recovery positions provided"]
    ),
  ]

  @Test(arguments: answers)
  func `only the events that a success counts are a proof, and all else is a gap`(
    _ name: String, _ server: [String], _ told: [String]
  ) {
    var client = StreamClient(["orders"])
    client.open("orders", 41)
    client.renew()
    client.open("orders", 43)
    let words = server.flatMap { client.take($0) }.map {
      $0.replacing("recovered orders", with: "recovered")
    }
    #expect(words == told, "\(name)")
    #expect(client.harness.session.isConnected)
  }

  @Test func `without an answer the gap is told at the deadline, and the connection stays`() {
    var client = StreamClient(["orders"])
    client.open("orders", 41)
    client.renew()
    client.open("orders", 44)
    #expect(client.take(event(44)) == [])
    #expect(client.words(client.harness.advance(.seconds(9))) == [])
    // Each event of the replay gives the answer its full time again.
    #expect(client.take(event(42)) == ["42"])
    #expect(client.words(client.harness.advance(.seconds(9))) == [])
    client.harness.pause(true)
    #expect(client.words(client.harness.advance(.seconds(30))) == [])
    client.harness.pause(false)
    #expect(
      client.words(client.harness.advance(.seconds(10))) == [
        "gap after 42: no answer to the resume within 10 s", "44",
      ])
    #expect(client.harness.session.isConnected)
    #expect(client.take(success(["orders"], [9], [50])).count == 1)
  }

  @Test func `events that wait for the missed ones have one limit`() {
    var client = StreamClient(["orders"])
    client.open("orders", 41)
    client.renew()
    client.open("orders", 41)
    let text = String(repeating: "x", count: 100_000)
    var told: [String] = []
    var serial = 43
    while told.isEmpty, serial < 100 {
      told = client.take(event(serial, data: text))
      serial += 1
    }
    #expect(serial == 43 + 11)
    #expect(told.first == "gap after 41: more than 1 MiB of events came before the missed ones")
    #expect(told.filter { $0 == text }.count == 11)
  }

  @Test func `a lost connection ends the question, and the next one asks from where events ended`()
  {
    var client = StreamClient(["orders"])
    client.open("orders", 41)
    client.renew()
    client.open("orders", 45)
    #expect(client.take(event(42)) + client.take(event(45)) == ["42"])
    client.renew()
    #expect(client.open("orders", 45).joined().contains(#""serial":42,"last_message_id":"m42""#))
    #expect(
      [event(43), event(44), event(45), success(["orders"], [3], [45])].flatMap { client.take($0) }
        == ["43", "44", "45", "recovered orders 3"])
  }

  @Test func `positions of an earlier run are asked for on the first connection`() {
    var client = StreamClient(
      ["orders"], [("orders", StreamPosition(streamID: "s", serial: 41, messageID: "m41"))])
    #expect(
      client.open("orders", 43) == [
        #"{"event":"sockudo:resume","data":{"channel_positions":{"orders":{"stream_id":"s","serial":41,"last_message_id":"m41"}}}}"#
      ])
    #expect(
      [event(42), event(43), success(["orders"], [2], [43])].flatMap { client.take($0) }
        == ["42", "43", "recovered orders 2"])
  }

  @Test func `a server that keeps no events leaves the gap of the connection`() {
    var client = StreamClient(["orders"])
    client.open("orders", nil)
    client.renew()
    #expect(client.open("orders", nil) == ["gap of the connection"])
  }

  @Test func `a channel without a position has a gap beside channels that are asked for`() {
    var client = StreamClient(["orders", "plain"])
    client.open("orders", 41)
    client.open("plain", nil)
    client.renew()
    client.open("orders", 41)
    #expect(client.open("plain", nil).last == "gap plain: the server had given no position")
    #expect(client.take(success(["orders"], [0], [41])) == ["recovered orders 0"])
  }

  @Test func `the older protocol has no resume, whatever the server sends`() {
    var harness = SessionHarness.connected(channels: ["orders"])
    let told = harness.event(event(42))
    #expect(told?.envelopeName == "e")
    harness.renew()
    let outputs = harness.succeed("orders")
    #expect(outputs.sent == [])
    #expect(outputs.events.count == 2)
    #expect(harness.event(event(40))?.envelopeName == "e")
  }

  @Test func `a rewind is asked for once, and its events come before the others`() {
    for (rewind, text) in [(PusherRewind.count(50), "50"), (.seconds(30), #"{"seconds":30}"#)] {
      var client = StreamClient(["orders"], rewind: rewind)
      #expect(
        client.greeted == [
          #"{"event":"sockudo:subscribe","data":{"channel":"orders","rewind":\#(text)}}"#
        ])
      #expect(client.open("orders", 41) == [])
      #expect(client.take(event(40)) + client.take(event(41)) == ["40", "41"])
      let end =
        #"{"event":"sockudo:rewind_complete","channel":"orders","data":{"historical_count":2,"complete":false}}"#
      #expect(client.take(end) == [#"rewound {"historical_count":2,"complete":false}"#])
      #expect(client.take(event(42)) == ["42"])
      #expect(client.renew() == [])
      #expect(client.open("orders", 42).joined().contains(#""serial":42"#))
    }
  }

  @Test func `a rewind without an event ends at the position of the subscription`() {
    var client = StreamClient(["orders"], rewind: .count(5))
    client.open("orders", 41)
    let end = #"{"event":"sockudo:rewind_complete","channel":"orders","data":{"complete":true}}"#
    #expect(client.take(end) == [#"rewound {"complete":true}"#])
    #expect(client.take(event(43)) == ["gap after 41: serial 42 did not come", "43"])
  }

  /// A model of the server keeps the last events.
  ///
  /// Cuts, early live events and repetitions are drawn.
  @Test(arguments: UInt64(1)...40)
  func `over random cuts each event comes once and in order, or lies in a told gap`(_ seed: UInt64)
  {
    var random = SeededGenerator(seed: seed)
    var client = StreamClient(["orders"])
    var (head, isFirst) = (0, true)
    var told: [String] = []
    for _ in 0..<60 {
      if !isFirst { client.renew() }
      isFirst = false
      head += Int.random(in: 0...4, using: &random)
      let question = client.open("orders", head).joined()
      // The window of the model.
      let window = Int.random(in: 1...6, using: &random)
      if let serial = question.split(separator: #""serial":"#).last.flatMap({
        Int($0.prefix { $0.isNumber })
      }),
        !question.isEmpty
      {
        let early = Int.random(in: 0...2, using: &random)
        for _ in 0..<early {
          head += 1
          told += client.take(event(head))
        }
        if head - serial > window {
          told += client.take(
            #"{"event":"sockudo:resume_failed","data":{"channel":"orders","code":"position_expired","reason":"r"}}"#
          )
          told += client.take(success([], []))
        } else {
          let cut = Int.random(in: 0...3, using: &random) == 0
          for number in stride(from: serial + 1, through: head, by: 1) {
            told += client.take(event(number))
            if Bool.random(using: &random) { told += client.take(event(number)) }
            if cut { break }
          }
          if cut { continue }
          told += client.take(success(["orders"], [head - serial], [head]))
        }
      }
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        head += 1
        told += client.take(event(head))
      }
    }
    var last: Int?
    var hasGap = false
    for word in told {
      if word.hasPrefix("gap") {
        hasGap = true
      } else if let number = Int(word) {
        #expect(hasGap || last.map { number == $0 + 1 } ?? true, "\(number) after \(last ?? 0)")
        #expect(number > last ?? 0)
        (last, hasGap) = (number, false)
      }
    }
  }
}

private func event(
  _ serial: Int, id: String? = nil, stream: String = "s", data: String? = nil
) -> String {
  #"{"event":"e","channel":"orders","data":"\#(data ?? "\(serial)")","message_id":"\#(id ?? "m\(serial)")","stream_id":"\#(stream)","serial":\#(serial)}"#
}

private func success(
  _ channels: [String], _ counts: [Int], _ ends: [Int] = [], stream: String = "s"
) -> String {
  let items = channels.indices.map { index in
    let position =
      ends.isEmpty ? "null" : #"{"stream_id":"\#(stream)","serial":\#(ends[index])}"#
    return
      #"{"channel":"\#(channels[index])","source":"hot","replayed":\#(counts[index]),"position":\#(position)}"#
  }
  return
    #"{"event":"sockudo:resume_success","data":{"recovered":[\#(items.joined(separator: ","))],"failed":[]}}"#
}

/// A session of Protocol V2, whose outputs are words.
private struct StreamClient {
  var harness: SessionHarness
  /// What the first greeting sent.
  var greeted: [String] = []

  init(
    _ channels: [String], _ positions: [(channel: String, position: StreamPosition)] = [],
    rewind: PusherRewind? = nil
  ) {
    var options = SessionOptions(service: .sockudo)
    (options.positions, options.rewind) = (positions, rewind)
    harness = SessionHarness(options, channels: channels)
    harness.dial()
    greeted = greet()
  }

  private mutating func greet() -> [String] {
    harness.receive(
      #"{"event":"sockudo:connection_established","data":"{\"socket_id\":\"1.2\",\"activity_timeout\":120}"}"#
    ).sent
  }

  /// Loses the connection and makes the next; returns what it tells of streams.
  @discardableResult mutating func renew() -> [String] {
    var told = harness.lose(.network("reset"))
    told += harness.advance(told.retry?.delay ?? .zero)
    _ = greet()
    return words(told)
  }

  /// Confirms a subscription.
  @discardableResult mutating func open(_ channel: String, _ serial: Int?) -> [String] {
    let data = serial.map { #"{\"stream_id\":\"s\",\"serial\":\#($0)}"# } ?? "{}"
    return take(
      #"{"event":"sockudo_internal:subscription_succeeded","channel":"\#(channel)","data":"\#(data)"}"#
    )
  }

  mutating func take(_ text: String) -> [String] {
    var told: [String] = []
    if let event = harness.event(text) { told.append(event.dataText ?? "") }
    return told + words(harness.drain())
  }

  func words(_ outputs: [SessionOutput]) -> [String] {
    outputs.compactMap { output in
      switch output {
      case .send(let text): text.contains(":resume") ? text : nil
      case .deliver(let message, _):
        withView(message) { view in (try? Envelope(view))?.dataText }
      case .report(.recovered(let channel, let count, _)): "recovered \(channel) \(count)"
      case .report(.missed(let channel, let gap, _, _)):
        "gap" + (channel == "orders" ? "" : " \(channel)")
          + (gap.after.map { " after \($0.serial)" } ?? "") + ": "
          + (gap.code == StreamGap.unproven
            || gap.code == "stream_reset" && gap.currentStreamID != nil
            ? "" : "\(gap.code) ")
          + gap.reason + (gap.oldest.map { " from \($0)" } ?? "")
      case .report(.rewound(_, let data)): "rewound \(data.jsonText)"
      case .report(.malformed(let reason, _)): "bad \(reason)"
      case .report(.connection(.gap)): "gap of the connection"
      default: nil
      }
    }
  }
}

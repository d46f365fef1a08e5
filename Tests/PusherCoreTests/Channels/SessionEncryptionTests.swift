import PusherCore
import TestSupport
import Testing

struct `Session: encrypted channels` {
  private static let channel = "private-encrypted-demo"
  private static let oldSecret = Base64.encode([UInt8](repeating: 1, count: 32))
  private static let newSecret = Base64.encode([UInt8](repeating: 2, count: 32))

  private static func auth(_ secret: String?) -> PusherAuth {
    PusherAuth(auth: "k:s", sharedSecret: secret)
  }

  private func joined() throws -> SessionHarness {
    var harness = SessionHarness(channels: [Self.channel])
    let request = try #require(harness.connect().requests.first)
    let outputs = harness.answer(request, .success(Self.auth(Self.oldSecret)))
    #expect(outputs == [.subscribe(Self.channel, auth: "k:s")])
    harness.succeed(Self.channel)
    return harness
  }

  private func message(_ plain: String, _ secret: String, event: String = "e") throws -> String {
    try message(Array(plain.utf8), secret, event: event)
  }

  private func message(_ plain: [UInt8], _ secret: String, event: String = "e") throws -> String {
    let nonce = [UInt8](repeating: 9, count: SecretBox.nonceLength)
    let data = try ChannelKey(sharedSecret: secret).seal(plain, nonce: nonce)
    let members = ["event": event, "channel": Self.channel, "data": data]
    return JSONWriter.text(
      .object(["event", "channel", "data"].map { .init($0, .string(members[$0] ?? "")) }))
  }

  private func received(_ text: String, _ harness: inout SessionHarness) -> String? {
    harness.event(text)?.text
  }

  @Test func `an event comes out with what was encrypted as its data`() throws {
    var harness = try joined()
    let text = try message(#"{"n":1.10,"t":"ü\n"}"#, Self.oldSecret)
    #expect(
      received(text, &harness)
        == #"{"event":"e","channel":"private-encrypted-demo","data":"{\"n\":1.10,\"t\":\"ü\\n\"}"}"#
    )
    #expect(harness.drain().isEmpty)
  }

  /// The first event looks up the key; later events reuse it.
  @Test(arguments: [
    #"{"n":1.10,"t":"ü\n"}"#, "text", "", #"""#, "[1]", " 1 ", "/", "\u{7F}\u{2028}",
    String(repeating: "long ", count: 2000),
  ])
  func `events that follow come out as the first one does`(plain: String) throws {
    var harness = try joined()
    let text = try message(plain, Self.oldSecret)
    // Some encoders write slashes with a backslash, and in the other order.
    let slashes = text.replacing("/", with: #"\\\/"#)
    let opened = harness.event(text)
    let first = try #require(opened)
    for message in [text, slashes, text] { #expect(harness.event(message) == first) }
    #expect(first.dataText == plain)
    #expect(harness.drain().isEmpty)
  }

  @Test func `a key is not used after its channel was left`() throws {
    var harness = try joined()
    let text = try message("1", Self.oldSecret)
    for _ in 0..<2 { #expect(received(text, &harness) != nil) }
    harness.session.unsubscribe(Self.channel, at: harness.now)
    #expect(received(text, &harness) == nil)
    #expect(harness.drain().undecrypted == ["e: the channel has no key"])
  }

  @Test func `twenty channels keep their keys apart`() throws {
    let names = (0..<20).map { "private-encrypted-\($0)" }
    func secret(_ name: String) -> String { Base64.encode(Digest.sha256(Array(name.utf8))) }
    var harness = SessionHarness(channels: names)
    for request in harness.connect().requests {
      let channel = try #require(request.channel)
      _ = harness.answer(request, .success(Self.auth(secret(channel))))
      harness.succeed(channel)
    }
    for round in 0..<3 {
      for name in names {
        let text = try message("\(round)", secret(name)).replacing(Self.channel, with: name)
        #expect(
          received(text, &harness) == #"{"event":"e","channel":"\#(name)","data":"\#(round)"}"#)
      }
    }
  }

  @Test func `an escape in the channel's name hides nothing`() throws {
    var harness = try joined()
    let text = try message("1", Self.oldSecret).replacing("private-e", with: #"private\u002de"#)
    #expect(received(text, &harness)?.hasSuffix(#""data":"1"}"#) == true)
  }

  @Test func `content that is not text comes as base64`() throws {
    var harness = try joined()
    let text = try message([0xFF, 0x00], Self.oldSecret)
    #expect(
      received(text, &harness)
        == #"{"event":"e","channel":"private-encrypted-demo","data":null,"data_base64":"/wA="}"#)
  }

  @Test func `the protocol's own events are not encrypted`() throws {
    var harness = try joined()
    let count =
      #"{"event":"pusher_internal:subscription_count","channel":"private-encrypted-demo"}"#
    #expect(harness.event(count)?.publicName == "pusher:subscription_count")
  }

  @Test(arguments: [nil, "", "AAAA", "no base64"])
  func `an authorisation without a good key is of no use`(secret: String?) throws {
    var harness = SessionHarness(channels: [Self.channel])
    let request = try #require(harness.connect().requests.first)
    let failure = try #require(harness.answer(request, .success(Self.auth(secret))).failures.first)
    #expect(failure.message.contains("shared_secret"))
    #expect(failure.fault == .peer)
  }

  @Test func `a key that fails is asked for once, and what came meanwhile stays in order`() throws {
    var harness = try joined()
    let outputs = harness.receive(try message("1", Self.newSecret, event: "first"))
    let request = try #require(outputs.requests.first)
    #expect(outputs.count == 1 && request.channel == Self.channel)
    #expect(harness.receive(try message("2", Self.newSecret, event: "second")).isEmpty)
    // Made with the old key, and now of no use.
    #expect(harness.receive(try message("3", Self.oldSecret, event: "third")).isEmpty)

    let late = harness.answer(request, .success(Self.auth(Self.newSecret)))
    let texts = late.compactMap { output in
      if case .deliver(let bytes, _) = output {
        String(decoding: bytes, as: UTF8.self)
      } else {
        nil
      }
    }
    #expect(
      texts == [
        #"{"event":"first","channel":"private-encrypted-demo","data":"1"}"#,
        #"{"event":"second","channel":"private-encrypted-demo","data":"2"}"#,
      ])
    #expect(late.undecrypted == ["third: the key does not match; a new key did not help"])
    #expect(received(try message("4", Self.newSecret), &harness) != nil)
  }

  @Test func `a new key that does not help is not asked for again at once`() throws {
    var harness = try joined()
    let request = try #require(harness.receive(try message("1", Self.newSecret)).requests.first)
    let failed = harness.answer(request, .success(Self.auth(Self.oldSecret)))
    #expect(failed.count == 1 && failed.events.count == 1)
    let outputs = harness.receive(try message("2", Self.newSecret))
    #expect(outputs.requests.isEmpty && outputs.events.count == 1)
    harness.advance(.seconds(10))
    #expect(harness.receive(try message("3", Self.newSecret)).requests.count == 1)
  }

  @Test func `an event that opens makes the next failure worth a question`() throws {
    var harness = try joined()
    let first = try #require(harness.receive(try message("1", Self.newSecret)).requests.first)
    harness.answer(first, .success(Self.auth(Self.oldSecret)))
    #expect(received(try message("2", Self.oldSecret), &harness) != nil)
    #expect(harness.receive(try message("3", Self.newSecret)).requests.count == 1)
  }

  @Test func `a refused question reports what waits, and the channel stays`() throws {
    var harness = try joined()
    let request = try #require(harness.receive(try message("1", Self.newSecret)).requests.first)
    #expect(
      harness.answer(request, .failure(.refused(status: 403, "no"))).undecrypted
        == ["e: the key does not match, and there is no new key: no"])
    #expect(harness.session.isFullySubscribed)
    #expect(received(try message("2", Self.oldSecret), &harness) != nil)
  }

  @Test func `malformed data is reported without a question`() throws {
    var harness = try joined()
    let text = #"{"event":"e","channel":"private-encrypted-demo","data":"{\"n\":1}"}"#
    #expect(
      harness.receive(text).events == [
        .decryptionFailed(
          channel: Self.channel, event: "e", data: #"{"n":1}"#,
          reason: #"the data has no "nonce" string"#)
      ])
  }

  @Test func `events that wait for a key are limited, and those beyond are reported`() throws {
    var harness = try joined()
    let text = try message(String(repeating: "x", count: 300_000), Self.newSecret)
    #expect(harness.receive(text).requests.count == 1)
    #expect(harness.receive(text).isEmpty)
    #expect(harness.receive(text).undecrypted == ["e: too many events wait for a new key"])
    #expect(harness.lose(.network("gone")).undecrypted.count == 2)
  }
}

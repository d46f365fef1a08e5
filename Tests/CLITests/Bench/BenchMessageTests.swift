import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

struct `The text of a numbered event` {
  private typealias Name = BenchMessage.Name

  private let message = BenchMessage(run: "0a1b2c3d", size: 200)
  private let members = BenchMessage(run: "0a1b2c3d", size: 200, readsMembers: true)
  private let name = Name(channel: 3, number: 17, microseconds: 170_000)

  private func read(
    _ text: String, _ message: BenchMessage? = nil, isData: Bool = false
  ) -> BenchMessage.Reading {
    withView(Array(text.utf8)) { (message ?? self.message).read($0, isData: isData) }
  }

  /// The message of a server, with the data as a string.
  private func frame(_ name: BenchMessage.Name) -> String {
    let data = JSONValue.string(message.data(name).jsonText)
    return (["event": "bench", "channel": "bench-4", "data": data] as JSONValue).jsonText
  }

  @Test(arguments: [80, 81, 200, 1000, 10_240])
  func `the data of a numbered event has the wanted size`(size: Int) {
    let message = BenchMessage(run: "0a1b2c3d", size: size)
    #expect(message.data(name).jsonText.utf8.count == size)
  }

  @Test func `what was written is read, as a string or as an object`() {
    #expect(read(frame(name)) == .event(name))
    let data = message.data(name)
    let objects: [JSONValue] = [
      ["data": data, "event": "client-bench"], ["event": "client-bench", "data": data],
    ]
    for object in objects { #expect(read(object.jsonText) == .event(name)) }
  }

  @Test func `the data alone is read where it is said to be that, and must end with its object`() {
    let data = message.data(name).jsonText
    #expect(read(data, isData: true) == .event(name))
    #expect(read(data + "}", isData: true) == .wrong)
    #expect(read(data) == .wrong)
  }

  @Test func `every number of an event is read back`() {
    for number in [0, 1, 61, 62, 63, 99_999_999] {
      let name = Name(channel: 9999, number: number, microseconds: 86_399_999_999)
      #expect(read(frame(name)) == .event(name))
    }
  }

  @Test(arguments: [
    "", "{}", "~", "~~~~", #"{"data":"~"}"#, #"{"data":"~0a1b2c3d"}"#, #"{"data":"~0a1b2c3d."}"#,
    #"{"data":"~0a1b2c3d.1.2~"}"#, #"{"data":"~0a1b2c3d.1.2.3"}"#, #"{"data":"~0a1b2c3d.1..3~"}"#,
    #"{"data":"~ffffffff.1.2.3~abc"}"#, #"{"data":"~0a1b2c3d.-1.2.3~"}"#,
    #"{"data":"~0a1b2c3d.1.99999999999999999999.3~"}"#,
  ])
  func `text without a label is foreign`(text: String) { #expect(read(text) == .foreign) }

  @Test func `the label of an event is found after a foreign one`() {
    let data = message.data(name).jsonText
    #expect(read(##"{"x":"~a~0a1b2c3d","d":\##(data)}"##) == .event(name))
  }

  @Test func `a changed, cut or lengthened text is wrong, and that of another event`() {
    let whole = frame(name)
    #expect(read(whole.replacing("abc", with: "abd", maxReplacements: 1)) == .wrong)
    #expect(read(String(whole.dropLast())) == .wrong)
    #expect(read(String(whole.dropLast(40)) + #"\"}"}"#) == .wrong)
    let value = message.value(name)
    #expect(read(whole.replacing(value, with: value + "x")) == .wrong)
    let other = message.label(Name(channel: 3, number: 18, microseconds: 170_000))
    #expect(read(whole.replacing(message.label(name), with: other)) == .wrong)
    #expect(read(#"{"data":"~0a1b2c3d.3.17.170000~"#) == .wrong)
  }

  @Test func `every cut of a message is wrong or foreign, and none traps`() {
    let whole = Array(frame(name).utf8)
    for count in 0..<whole.count {
      let reading = read(String(decoding: whole[..<count], as: UTF8.self))
      #expect(reading == .wrong || reading == .foreign, "\(count)")
    }
  }

  @Test func `members come and go under their label`() {
    let label = message.label(name)
    let added =
      #"{"event":"pusher_internal:member_added","channel":"presence-a","data":"{\"user_id\":\"\#(label)\"}"}"#
    #expect(read(added, members) == .member(name, hasLeft: false))
    let removed = added.replacing("member_added", with: "member_removed")
    #expect(read(removed, members) == .member(name, hasLeft: true))
    let list = added.replacing("member_added", with: "subscription_succeeded")
    #expect(read(list, members) == .foreign)
  }
}

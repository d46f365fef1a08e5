import TestSupport
import Testing

@testable import PusherCore

struct PresenceRosterTests {
  private func roster(
    _ json: String, limits: PresenceLimits = PresenceLimits()
  ) throws -> PresenceRoster {
    var roster = PresenceRoster(limits: limits)
    withView(Array(json.utf8)) { roster.read(data: $0) }
    return roster
  }

  private func summary(_ roster: PresenceRoster) -> [String] {
    roster.members.map { "\($0.userId)=\(JSONWriter.text($0.userInfo))" }
  }

  @Test(
    arguments: [
      (
        #"{"presence":{"ids":["1","2"],"hash":{"1":{"name":"A"},"2":null},"count":2}}"#,
        [#"1={"name":"A"}"#, "2=null"]
      ),
      // PHP: numbers as ids, a list for consecutive ids, an empty list, ids as an object.
      (
        #"{"presence":{"ids":[7,8],"hash":{"7":{"a":1},"8":{}},"count":2}}"#,
        [#"7={"a":1}"#, "8={}"]
      ),
      (
        #"{"presence":{"ids":[0,1],"hash":[{"n":"A"},null],"count":2}}"#,
        [#"0={"n":"A"}"#, "1=null"]
      ),
      (#"{"presence":{"ids":[],"hash":[],"count":0}}"#, []),
      (#"{"presence":{"ids":{"0":"5","3":9},"hash":[],"count":2}}"#, ["5=null", "9=null"]),
      (#"{"presence":{"ids":["5"],"hash":{},"count":1}}"#, ["5=null"]),
      // Missing members and members of another type are left out.
      (#"{"presence":{"hash":{"1":{}}}}"#, ["1={}"]),
      (#"{"presence":{"ids":["1",null,{},["2"],"3"]}}"#, ["1=null", "3=null"]),
      (#"{"presence":{"ids":["1","1"],"hash":{"1":1,"1":2}}}"#, ["1=2"]),
      (#"{"presence":{}}"#, []), (#"{"presence":null}"#, []), (#"{"presence":"x"}"#, []),
      ("{}", []), ("null", []), (#"{"presence":{"ids":"x","hash":3}}"#, []),
      // Not JSON.
      (#"{"presence":{"hash":{"1":{}}}"#, []), (#"{"presence":{"hash":{"1":{},}}}"#, []),
      ("[", []), ("x", []),
    ] as [(String, [String])])
  func `the members are read in every shape that is sent`(json: String, expected: [String]) throws {
    let roster = try roster(json)
    #expect(summary(roster) == expected)
    #expect(roster.count == expected.count)
  }

  @Test func `members come and go, in the order in which they came`() throws {
    var roster = PresenceRoster()
    let isNew = [
      roster.insert("a", .null), roster.insert("b", .null), roster.insert("a", .bool(true)),
    ]
    #expect(isNew == [true, true, false])
    #expect(summary(roster) == ["a=true", "b=null"])
    #expect(roster["a"] == PusherPresenceChannelMember(userId: "a", userInfo: .bool(true)))
    #expect(roster["x"] == nil)
    let removed = [
      roster.remove("a")?.userId, roster.remove("a")?.userId, roster.remove("x")?.userId,
    ]
    #expect(removed == ["a", nil, nil])
    roster.insert("a", .null)
    #expect(summary(roster) == ["b=null", "a=null"])
  }

  @Test func `the roster is written as the protocol writes it`() throws {
    #expect(
      JSONWriter.text(try roster(#"{"presence":{"ids":[7],"hash":{"7":{"a":1}}}}"#).json)
        == #"{"count":1,"ids":["7"],"hash":{"7":{"a":1}}}"#)
    #expect(JSONWriter.text(PresenceRoster().json) == #"{"count":0,"ids":[],"hash":{}}"#)
  }

  @Test func `members past the limit are left out, and that is known`() throws {
    var limits = PresenceLimits()
    limits.members = 2
    var roster = try roster(
      #"{"presence":{"hash":{"1":{},"2":{},"1":{"a":1},"3":{}},"ids":["4"]}}"#, limits: limits)
    func isFiveKept() -> Bool { roster.insert("5", .null) }
    #expect(summary(roster) == [#"1={"a":1}"#, "2={}"])
    #expect(roster.isCut)
    #expect(!isFiveKept())
    _ = roster.remove("1")
    #expect(isFiveKept())
    #expect(summary(roster) == ["2={}", "5=null"])
  }

  @Test func `bytes past the limit are left out, and those of members who go count no longer`() {
    var limits = PresenceLimits()
    limits.bytes = 10
    var roster = PresenceRoster(limits: limits)
    func kept(_ id: String, _ info: JSONValue) -> Bool { roster.insert(id, info) }
    #expect(kept("a", .string("12345")))
    #expect(!kept("b", .string("1")), "8 and 4 bytes")
    #expect(roster.isCut)
    #expect(!kept("a", .string("1")), "no new member, but shorter")
    #expect(roster["a"]?.userInfo == .string("1"))
    #expect(kept("b", .string("12")))
    #expect(!kept("b", .string("12345678")))
    #expect(roster["b"]?.userInfo == .string("12"), "what was known stays")
    _ = roster.remove("a")
    #expect(kept("c", .string("12")))
  }

  @Test func `a session says once that a list is cut, and keeps no more than the limit`() {
    var options = SessionOptions()
    options.presence.members = 2
    var harness = SessionHarness(options, channels: ["presence-a"])
    harness.sign(harness.connect().requests)
    let cut = { (outputs: [SessionOutput]) in
      outputs.events.filter { $0 == .membersLeftOut(channel: "presence-a", options.presence) }.count
    }
    #expect(cut(harness.succeed("presence-a", presence: #"{"ids":["1"]}"#)) == 0)
    let added = (2...5).map { id in
      harness.receive(
        #"{"event":"pusher_internal:member_added","channel":"presence-a","data":{"user_id":"\#(id)"}}"#
      )
    }
    #expect(added.map(cut) == [0, 1, 0, 0])
    #expect(added[3].events.count == 1, "a member beyond the limit is reported too")
  }
}

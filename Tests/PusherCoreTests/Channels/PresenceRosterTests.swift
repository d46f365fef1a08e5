import Testing

@testable import PusherCore

@Suite struct PresenceRosterTests {
  private func roster(_ json: String) throws -> PresenceRoster {
    PresenceRoster(subscriptionData: try JSONParser.parse(json))
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
      // What is missing or of another kind is left out.
      (#"{"presence":{"hash":{"1":{}}}}"#, ["1={}"]),
      (#"{"presence":{"ids":["1",null,{},["2"],"3"]}}"#, ["1=null", "3=null"]),
      (#"{"presence":{"ids":["1","1"],"hash":{"1":1,"1":2}}}"#, ["1=2"]),
      (#"{"presence":{}}"#, []), (#"{"presence":null}"#, []), (#"{"presence":"x"}"#, []),
      ("{}", []), ("null", []),
      (#"{"presence":{"ids":"x","hash":3}}"#, []),
    ] as [(String, [String])])
  func `the members are read from every shape that servers send`(
    json: String, expected: [String]
  ) throws {
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
}

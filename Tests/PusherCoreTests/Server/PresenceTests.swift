import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite("Protocol page, presence channels")
struct PresenceTests {
  private let channel = "presence-room"

  private func user(_ id: String, _ name: String) -> String {
    #"{"user_id":"\#(id)","user_info":{"name":"\#(name)"}}"#
  }

  @Test func `the documented signature of a presence channel is accepted`() {
    let answers = HubClient(.forTests(), "1234.1234").answers(
      to: #"{"event":"pusher:subscribe","data":{"channel":"presence-foobar","auth":"#
        + #""278d425bdf160c739803:31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80","#
        + #""channel_data":"{\"user_id\":10,\"user_info\":{\"name\":\"Mr. Channels\"}}"}}"#)
    #expect(
      answers == [
        #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-foobar","data":"#
          + #""{\"presence\":{\"ids\":[\"10\"],\"hash\":{\"10\":{\"name\":\"Mr. Channels\"}},"#
          + #"\"count\":1}}"}"#
      ])
  }

  @Test func `a member is added with the first connection and removed with the last`() {
    let hub = Hub.forTests()
    let watcher = HubClient(hub, "1.1")
    watcher.authorize(channel, channelData: user("1", "A"))
    _ = watcher.texts()
    let first = HubClient(hub, "1.2")
    let second = HubClient(hub, "1.3")
    first.authorize(channel, channelData: user("2", "B"))
    #expect(
      watcher.texts() == [
        #"{"event":"pusher_internal:member_added","channel":"presence-room","#
          + #""data":"{\"user_id\":\"2\",\"user_info\":{\"name\":\"B\"}}"}"#
      ])
    second.authorize(channel, channelData: user("2", "B"))
    #expect(watcher.texts() == [])
    #expect(hub.userIDs(channel) == ["1", "2"])
    #expect(hub.subscriptionCount(channel) == 3)
    first.lose()
    #expect(watcher.texts() == [])
    second.send(#"{"event":"pusher:unsubscribe","data":{"channel":"presence-room"}}"#)
    #expect(
      watcher.texts() == [
        #"{"event":"pusher_internal:member_removed","channel":"presence-room","#
          + #""data":"{\"user_id\":\"2\"}"}"#
      ])
    #expect(hub.userIDs(channel) == ["1"])
  }

  @Test(arguments: Dialect.allCases)
  func `the list is JSON inside a string, whatever ids and information hold`(dialect: Dialect) {
    let members = [
      Member(userID: "\"\\é\n", info: ["a\"": "\u{1}\\"]), Member(userID: "7", id: .integer(7)),
      Member(userID: "gone"), Member(userID: "b", info: .null),
    ]
    var list = MemberList()
    for member in members { #expect(list.join(member)) }
    #expect(!list.join(members[0]))
    #expect(list.leave("gone") == members[2])
    let left = members.filter { $0.userID != "gone" }
    // Only soketi leaves out members without information.
    let shown = left.filter { dialect.rawValue != "soketi" || $0.info != nil }
    let data: JSONValue = [
      "presence": [
        "ids": .array(left.map(\.id)),
        "hash": .object(shown.map { .init($0.userID, $0.info ?? .null) }), "count": .integer(3),
      ]
    ]
    #expect(
      MessageText(dialect: dialect).subscriptionSucceeded(channel: channel, members: list)
        == MessageText.event(
          name: "pusher_internal:subscription_succeeded", channel: channel,
          data: .string(JSONWriter.text(data))))
  }

  @Test func `who joins is told of all, itself included, in the order of joining`() throws {
    let hub = Hub.forTests()
    for (index, id) in ["9", "3", "5"].enumerated() {
      HubClient(hub, "1.\(index)").authorize(channel, channelData: #"{"user_id":"\#(id)"}"#)
    }
    let last = HubClient(hub, "2.1")
    last.authorize(channel, channelData: #"{"user_id":"1"}"#)
    let answer = try JSONParser.parse(try #require(last.texts().last))
    #expect(
      answer["data"]?.text
        == #"{"presence":{"ids":["9","3","5","1"],"#
        + #""hash":{"9":null,"3":null,"5":null,"1":null},"count":4}}"#)
  }

  @Test(
    arguments: [
      (nil, "presence channels need channel_data with a user_id, or a signed-in user"),
      ("{}", "channel_data is not a JSON object with a user_id"),
      ("nonsense", "channel_data is not a JSON object with a user_id"),
      (#"{"user_id":""}"#, "channel_data is not a JSON object with a user_id"),
      (
        #"{"user_id":"\#(String(repeating: "u", count: 129))"}"#,
        "a user_id has at most 128 characters; this one has 129"
      ),
      (
        #"{"user_id":"\#(String(repeating: "u", count: 1011))"}"#,
        "channel_data has at most 1024 bytes; this one has 1025"
      ),
    ] as [(String?, String)])
  func `a member that cannot be read is refused`(data: String?, reason: String) throws {
    let client = HubClient(.forTests(), "1.1")
    client.authorize(channel, channelData: data)
    let answer = try JSONParser.parse(try #require(client.texts().last))
    #expect(answer["event"]?.text == "pusher:error")
    #expect(answer["channel"]?.text == channel)
    #expect(answer["data"]?["message"]?.text == reason)
  }

  @Test func `a full channel takes no new user, but more connections of its users`() throws {
    let hub = Hub.forTests { $0.presenceMembers = 2 }
    let clients = ["1.1", "1.2", "1.3", "1.4"].map { HubClient(hub, $0) }
    for (client, id) in zip(clients, ["a", "b", "c", "b"]) {
      client.authorize(channel, channelData: #"{"user_id":"\#(id)"}"#)
    }
    let answer = try JSONParser.parse(try #require(clients[2].texts().last))
    #expect(answer["data"]?["code"]?.integer == 4004)
    #expect(answer["channel"]?.text == channel)
    #expect(hub.userIDs(channel) == ["a", "b"])
    #expect(hub.subscriptionCount(channel) == 3)
  }

  @Test func `the hub's counts agree with a simple model`() {
    var random = SeededGenerator(seed: 7)
    let hub = Hub.forTests()
    var clients: [(client: HubClient, user: String, isIn: Bool)] = (0..<12).map { index in
      (HubClient(hub, "1.\(index)"), "u\(index % 5)", false)
    }
    for _ in 0..<2000 {
      let index = random.below(12)
      let (client, user, isIn) = clients[index]
      if isIn {
        client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"presence-room"}}"#)
      } else {
        client.authorize(channel, channelData: #"{"user_id":"\#(user)"}"#)
      }
      clients[index].isIn = !isIn
      let present = clients.filter { $0.isIn }
      #expect(hub.subscriptionCount(channel) == present.count)
      #expect(Set(hub.userIDs(channel)) == Set(present.map { $0.user }))
      for entry in clients { _ = entry.client.session.connection.takeOutput() }
    }
  }
}

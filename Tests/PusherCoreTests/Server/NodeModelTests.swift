import PusherCore
import PusherServer
import TestSupport
import Testing

/// Random clients on several nodes, and what each of them must have been told.
@Suite("Nodes that meet in Redis, against a model of their clients")
struct NodeModelTests {
  /// A client, what it must get, and what it knows.
  private final class Player {
    let client: HubClient
    let node: Int
    /// Its channels, on presence channels with its user.
    var channels: [String: String] = [:]
    /// The events that it must get, in their order.
    var owed: [String] = []
    /// Events that it may get, since it left their channel meanwhile.
    var optional: Set<String> = []
    /// The members of its presence channels, as it was told.
    var members: [String: Set<String>] = [:]

    init(_ client: HubClient, _ node: Int) {
      (self.client, self.node) = (client, node)
    }

    func isOwed(_ channel: String) -> Bool { channels[channel] != nil }
  }

  private static let channels = ["a", "b", "presence-p", "presence-q"]
  private static let users = ["u", "v", "w", "x"]

  @Test(arguments: [1, 3], [UInt64(1), 2])
  func `everybody is told what is, and gets what is sent, once and in order`(
    count: Int, seed: UInt64
  ) throws {
    let nodes = NodeHarness(count)
    var random = SeededGenerator(seed: seed)
    var players: [Player] = []
    var number = 0
    for step in 0..<5000 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<3 where players.count < 12:
        number += 1
        let node = Int.random(in: 0..<count, using: &random)
        players.append(Player(HubClient(nodes.hub(node), "2.\(number)"), node))
      case 3 where !players.isEmpty:
        players.remove(at: Int.random(in: 0..<players.count, using: &random)).client.lose()
        nodes.settle()
      case 4..<9:
        players.randomElement(using: &random).map { subscribe($0, &random) }
        nodes.settle()
      case 9..<12:
        players.randomElement(using: &random).map { unsubscribe($0, &random) }
        nodes.settle()
      case 12..<17:
        let channel = Self.channels.randomElement(using: &random) ?? "a"
        let node = Int.random(in: 0..<count, using: &random)
        for player in players where player.isOwed(channel) { player.owed.append("\(step)") }
        nodes.hub(node).publish(name: "e", channel: channel, data: .string("\(step)"))
      case 17:
        nodes.advance(nodes.servers[Int.random(in: 0..<count, using: &random)])
      default:
        nodes.settle()
        nodes.beat()
        for player in players { try check(player, players, step) }
        try checkCounts(nodes, players, step)
      }
    }
  }

  private func subscribe(_ player: Player, _ random: inout SeededGenerator) {
    let channel = Self.channels.randomElement(using: &random) ?? "a"
    guard player.channels[channel] == nil else { return }
    let user = Self.users.randomElement(using: &random) ?? "u"
    player.channels[channel] = user
    guard channel.hasPrefix("presence") else { return player.client.subscribe(channel) }
    player.client.authorize(channel, channelData: #"{"user_id":"\#(user)"}"#)
  }

  private func unsubscribe(_ player: Player, _ random: inout SeededGenerator) {
    guard let channel = player.channels.keys.sorted().randomElement(using: &random) else { return }
    // What is on its way to the channel may come or not: all that is owed becomes possible.
    read(player)
    player.channels[channel] = nil
    player.members[channel] = nil
    player.optional.formUnion(player.owed)
    player.owed = []
    player.client.send(
      #"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
  }

  /// Takes what a client was told.
  private func read(_ player: Player) {
    for text in player.client.texts() {
      guard let message = try? JSONParser.parse(text), let name = message["event"]?.text else {
        Issue.record("no message: \(text)")
        continue
      }
      let channel = message["channel"]?.text ?? ""
      let data = message["data"]?.text.flatMap { try? JSONParser.parse($0) }
      switch name {
      case "e":
        let event = message["data"]?.text ?? ""
        if player.owed.first == event {
          player.owed.removeFirst()
        } else {
          #expect(
            player.optional.remove(event) != nil, "event \(event), owed \(player.owed.prefix(3))")
        }
      case "pusher_internal:subscription_succeeded":
        let ids = data?["presence"]?["ids"]?.elements?.compactMap(\.text) ?? []
        player.members[channel] = Set(ids)
      case "pusher_internal:member_added":
        let isNew = player.members[channel]?.insert(data?["user_id"]?.text ?? "").inserted
        #expect(isNew == true, "told twice: \(text)")
      case "pusher_internal:member_removed":
        #expect(player.members[channel]?.remove(data?["user_id"]?.text ?? "") != nil, "\(text)")
      default: break
      }
    }
  }

  private func check(_ player: Player, _ players: [Player], _ step: Int) throws {
    read(player)
    try #require(player.owed.isEmpty, "step \(step): \(player.owed) did not come")
    player.optional = []
    for (channel, _) in player.channels where channel.hasPrefix("presence") {
      let present = Set(players.compactMap { $0.channels[channel] })
      try #require(player.members[channel] == present, "step \(step), \(channel)")
    }
  }

  private func checkCounts(_ nodes: NodeHarness, _ players: [Player], _ step: Int) throws {
    for index in nodes.nodes.indices {
      try #require(nodes.hub(index).connectionCount == players.count, "step \(step)")
      for channel in Self.channels {
        let subscribed = players.filter { $0.channels[channel] != nil }.count
        let facts = try #require(nodes.facts(index, of: channel))
        try #require(facts.subscriptions == subscribed, "step \(step), \(channel)")
      }
    }
  }
}

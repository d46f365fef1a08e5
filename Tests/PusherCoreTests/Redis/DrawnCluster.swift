import PusherCluster
import PusherServer
import SimulationModel
import TestSupport

extension ClusterCall {
  /// A call with a value for each argument of its signature; `key` turns names into keys.
  static func of(
    _ operation: String, key: (_ name: String) -> String = { $0 }, and further: [String] = [],
    value: (_ name: String) -> String
  ) -> ClusterCall {
    guard let signature = Self.signature(of: operation) else {
      preconditionFailure("no operation \(operation)")
    }
    let values = signature.arguments.map(value) + further
    return ClusterCall(
      operation, keys: signature.keys.map { Array(key($0).utf8) }, names: signature.arguments,
      values.map { Array($0.utf8) })
  }

  private static let usualValues = [
    "node": "node", "answers": "answers", "request": "1", "bus": "bus", "channel": "c",
    "socket": "1.1", "isMember": "1", "user": "ann", "member": "{}", "limit": "100",
    "connections": "1", "has": "0", "content": "7", "milliseconds": "60000", "came": "online",
    "left": "offline", "message": "m",
  ]

  /// A call of the member `ann` of channel `c`, but for these arguments; others are empty.
  static func usual(_ operation: String, _ changes: [String: String] = [:]) -> ClusterCall {
    of(operation, value: { changes[$0] ?? usualValues[$0] ?? "" })
  }
}

enum ClusterStep: CustomStringConvertible {
  case operation(ClusterCall)
  case command([[UInt8]])

  static func words(_ words: String...) -> ClusterStep { .command(words.map { Array($0.utf8) }) }

  private var words: [[UInt8]] {
    switch self {
    case .operation(let call): call.words
    case .command(let words): words
    }
  }

  var name: String { String(decoding: words[0], as: UTF8.self) }

  var description: String {
    words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
  }
}

/// Draws calls for few nodes, channels and users, so that they interact.
struct DrawnCluster {
  private static let nodes = ["n1", "n2", "n3"]
  private static let channels = ["c", "presence-d"]
  private static let users = ["ann", "bob", "", "dé"]
  static let buses = ["users:bus"] + channels.map { $0 + ":bus" } + nodes.map { $0 + ":answers" }

  private var random: SeededGenerator
  private var requests = 0
  /// The latest end of each node's lease, as returned by Redis.
  var leaseEnds: [String: Int64] = [:]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
  }

  private mutating func one<Value>(of values: [Value]) -> Value {
    values[random.below(values.count)]
  }

  mutating func next() -> [ClusterStep] {
    requests += 1
    switch random.below(23) {
    case 20: return call("beginStreams")
    case 21: return call("publish")
    case 22: return call("replay")
    case 0...3: return call("join")
    case 4, 5: return call("enter")
    case 6...8: return call("leave")
    case 9: return call("reap")
    case 10: return call("facts")
    case 11: return call(one(of: ["keep", "tellCount"]))
    case 12: return call(one(of: ["takeDepartures", "holdAgain", "holdAgain"]))
    case 13, 14: return call("signIn")
    case 15: return call("signOut")
    case 16: return call(one(of: ["beat", "begin"]))
    case 17: return call("probe")
    default: return command()
    }
  }

  private mutating func call(_ operation: String) -> [ClusterStep] {
    let (channel, node) = (one(of: Self.channels), one(of: Self.nodes))
    let isOfUsers = ["signIn", "signOut", "probe", "beginStreams"].contains(operation)
    var values = ["node": node, "channel": channel, "answers": "\(node):answers"]
    values["bus"] = isOfUsers ? "users:bus" : "\(channel):bus"
    for name in ClusterCall.signature(of: operation)?.arguments ?? [] where values[name] == nil {
      values[name] = argument(name, of: operation, node)
    }
    var further: [String] = []
    if operation == "enter" { further = arrivals(areMembers: values["isMember"] == "1") }
    if operation == "signIn" {
      further = (0..<random.below(4)).map { _ in one(of: Self.users) }
    }
    func key(_ name: String) -> String {
      switch name {
      case "lease": "lease:\(node)"
      case "own": "\(node):signed"
      case "users" where isOfUsers: "signed"
      case "counts", "users", "members", "byNode", "event", "mark", "stream", "place":
        "\(channel):\(name)"
      default: name
      }
    }
    let call = ClusterCall.of(operation, key: key, and: further, value: { values[$0] ?? "" })
    // A lifetime of 1 ms has passed before the next call, and a count is told again.
    let expires = values["milliseconds"] == "1" || values["window"] == "1"
    return [.operation(call)] + (expires ? [Self.pause] : [])
  }

  private mutating func argument(_ name: String, of operation: String, _ node: String) -> String {
    switch name {
    case "request": "\(requests)"
    case "life": "\(node).\(requests)"
    case "socket": one(of: ["", "1.1"])
    case "isMember": one(of: ["0", "1", "1"])
    case "user": one(of: Self.users)
    case "event" where operation == "publish": one(of: ["", "event \(requests)"])
    case "text": one(of: ["", "text \(requests)"])
    case "kind": one(of: ["1", "2"])
    case "window": one(of: ["900000", "1"])
    case "member", "event", "message", "content": "\(name) \(requests)"
    // Redis drops at most what exceeds the limit.
    case "limit" where operation == "publish": "3"
    case "limit": one(of: ["0", "2", "3"])
    case "before": one(of: ["", "<"])
    case "after": ">"
    case "connections" where operation == "join": one(of: ["1", "1", "1", "2", "0", "60"])
    case "connections": one(of: ["1", "2"])
    case "has": one(of: ["0", "0", "0", "1", "3"])
    // Long past, always valid, as returned by Redis, or far ahead.
    case "leaseEnd" where random.below(4) == 0: one(of: ["1", ""])
    case "leaseEnd": "\(leaseEnds[node] ?? 9_000_000_000_000)"
    // No departure is due soon, so the speed of the calls does not matter.
    case "delay": one(of: ["", "", "60000000", "-60000"])
    case "milliseconds" where operation == "beginStreams": one(of: ["900000", "900000", "1"])
    case "milliseconds" where operation == "keep" || operation == "publish":
      one(of: ["", "900000", "1"])
    case "milliseconds": one(of: ["900000", "9000000", "1"])
    case "came": one(of: ["", "online"])
    case "left": "offline"
    case "which": one(of: ["", "", "all"])
    case "cursor": "0"
    default: ""
    }
  }

  /// Connections to enter with, each with its member if there is one.
  private mutating func arrivals(areMembers: Bool) -> [String] {
    guard areMembers else { return [one(of: ["1", "2"])] }
    return (0...random.below(3)).flatMap { _ in
      [one(of: ["1", "2"]), one(of: Self.users), "member \(requests)"]
    }
  }

  private mutating func command() -> [ClusterStep] {
    let (node, other) = (one(of: Self.nodes), one(of: Self.nodes))
    let lists = Self.nodes.map { "\($0):channels" }
    let (list, lease) = (one(of: lists), "lease:\(node)")
    let steps: [[ClusterStep]] = [
      [.words("SET", "reaped:\(node)", other, "NX", "PX", "1"), Self.pause],
      [.words("SET", "reaped:\(node)", other, "NX", "PX", "900000")],
      [.words("SET", "gone:\(node)", other, "PX", "900000")], [.words("GET", lease)],
      [.words("EXISTS", "gone:\(node)")], [.words("EXISTS", "gone:\(node)", lease, list)],
      [.words("MGET", "lease:n1", "lease:n2", "lease:n3")], [.words("DEL", lease)],
      [.words("DEL", list, "\(node):signed", "gone:\(node)")],
      [.words("SADD", list, one(of: Self.channels))],
      [.words("SADD", "enrolled", node, other)],
      [.words("SREM", list, one(of: Self.channels))], [.words("SREM", "nodes", node)],
      [.words("SMEMBERS", "nodes")], [.words("SUNION", lists[0], lists[1], lists[2])],
      [.words("SCARD", "enrolled")], [.words("SISMEMBER", "nodes", node)],
      [.words("HGETALL", "\(node):signed")],
      [.words("PUBLISH", "users:bus", "news \(requests)")], [.words("PUBLISH", "nobody", "")],
      [.words("PUBSUB", "NUMSUB", "users:bus")], [.words("PUBSUB", "NUMSUB", "nobody", "c:bus")],
      [.words("CLIENT", "KILL", "ID", "999999")], [.words("PING")],
    ]
    return one(of: steps)
  }

  /// Stops Redis for 5 ms, so that a key with a lifetime of 1 ms expires.
  static let pause = ClusterStep.words("DEBUG", "SLEEP", "0.005")
}

#if Redis
  import PusherCluster
  import PusherServer
  import SimulationModel
  import TestSupport

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
    static let buses =
      ["users:bus"] + channels.map { $0 + ":bus" } + nodes.map { $0 + ":answers" }

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

    private mutating func channel(_ name: String) -> [String] {
      ["counts", "users", "members", "byNode", "event"].map { "\(name):\($0)" }
        + ["departed", "order"]
    }

    /// Returns a lease end: long past, empty, as returned by Redis, or far ahead.
    private mutating func leaseEnd(of node: String) -> String {
      switch random.below(8) {
      case 0: "1"
      case 1: ""
      default: "\(leaseEnds[node] ?? 9_000_000_000_000)"
      }
    }

    // No departure is due soon, so the speed of the calls does not matter.
    private mutating func delay() -> String { one(of: ["", "", "60000000", "-60000"]) }

    mutating func next() -> [ClusterStep] {
      requests += 1
      switch random.below(20) {
      case 0...3: return [join()]
      case 4, 5: return [enter()]
      case 6...8: return [leave()]
      case 9: return [reap()]
      case 10: return [.operation(channelCall("facts"))]
      case 11: return keep()
      case 12: return departure()
      case 13, 14: return [signIn()]
      case 15: return [signOut()]
      case 16: return lease()
      case 17: return [probe()]
      default: return command()
      }
    }

    private mutating func channelCall(
      _ operation: String, _ name: String = "c", _ arguments: KeyValuePairs<String, String> = [:],
      and further: [String] = []
    ) -> ClusterCall {
      let nodes = ["join", "enter"].contains(operation) ? ["nodes"] : []
      return ClusterCall(operation, keys: channel(name) + nodes, arguments, and: further)
    }

    private mutating func join() -> ClusterStep {
      let (name, node, user) = (one(of: Self.channels), one(of: Self.nodes), one(of: Self.users))
      let hasCount = random.below(2) == 0
      return .operation(
        channelCall(
          "join", name,
          [
            "node": node, "answers": "\(node):answers", "request": "\(requests)",
            "bus": "\(name):bus", "channel": name, "socket": one(of: ["", "1.1"]),
            "isMember": one(of: ["0", "1", "1"]), "user": user, "member": #"{"id":"\#(user)"}"#,
            "limit": one(of: ["0", "2", "3"]),
            "before": hasCount ? #"{"n":"# : "", "after": hasCount ? "}" : "",
            "connections": one(of: ["1", "1", "1", "2", "0", "60"]),
            "has": one(of: ["0", "0", "0", "1", "3"]), "leaseEnd": leaseEnd(of: node),
          ]))
    }

    private mutating func enter() -> ClusterStep {
      let (name, node) = (one(of: Self.channels), one(of: Self.nodes))
      let isMember = random.below(3) > 0
      let further = (0..<(isMember ? 1 + random.below(3) : 1)).flatMap { _ in
        [one(of: ["1", "2"])] + (isMember ? [one(of: Self.users), "member \(requests)"] : [])
      }
      return .operation(
        channelCall(
          "enter", name,
          [
            "node": node, "answers": "\(node):answers", "request": "\(requests)",
            "bus": "\(name):bus", "channel": name, "isMember": isMember ? "1" : "0",
            "before": one(of: ["", "<"]), "after": ">", "leaseEnd": leaseEnd(of: node),
          ], and: further))
    }

    private mutating func leave() -> ClusterStep {
      let (name, node) = (one(of: Self.channels), one(of: Self.nodes))
      return .operation(
        channelCall(
          "leave", name,
          [
            "node": node, "bus": "\(name):bus", "channel": name, "isMember": one(of: ["0", "1"]),
            "user": one(of: Self.users), "before": one(of: ["", "<"]), "after": ">",
            "leaseEnd": leaseEnd(of: node), "delay": delay(),
          ]))
    }

    private mutating func reap() -> ClusterStep {
      let name = one(of: Self.channels)
      return .operation(
        channelCall(
          "reap", name,
          [
            "node": one(of: Self.nodes), "bus": "\(name):bus", "channel": name,
            "before": one(of: ["", "<"]), "after": ">", "delay": delay(), "cursor": "0",
          ]))
    }

    private mutating func keep() -> [ClusterStep] {
      let name = one(of: Self.channels)
      let time = one(of: ["", "900000", "1"])
      if random.below(2) == 0 {
        let call = ClusterCall(
          "tellCount", keys: ["\(name):counts", "\(name):counted"],
          [
            "bus": "\(name):bus", "channel": name, "before": "<", "after": ">",
            "milliseconds": time.isEmpty ? "1" : time,
          ])
        return [.operation(call), Self.pause]
      }
      let call = ClusterCall(
        "keep", keys: ["\(name):event"],
        [
          "event": "event \(requests)", "milliseconds": time, "bus": "\(name):bus",
          "message": "message \(requests)",
        ])
      return [.operation(call)] + (time == "1" ? [Self.pause] : [])
    }

    private mutating func departure() -> [ClusterStep] {
      let name = one(of: Self.channels)
      guard random.below(3) > 0 else {
        return [
          .operation(
            ClusterCall("takeDepartures", keys: ["departed"], ["which": one(of: ["", "", "all"])]))
        ]
      }
      return [
        .operation(
          channelCall(
            "holdAgain", name,
            [
              "channel": name, "isMember": one(of: ["0", "1"]), "user": one(of: Self.users),
              "delay": delay(),
            ]))
      ]
    }

    private mutating func signIn() -> ClusterStep {
      let node = one(of: Self.nodes)
      let watched = (0..<random.below(4)).map { _ in one(of: Self.users) }
      return .operation(
        ClusterCall(
          "signIn", keys: ["signed", "\(node):signed", "nodes"],
          [
            "node": node, "answers": "\(node):answers", "request": "\(requests)",
            "bus": "users:bus", "user": one(of: Self.users), "socket": one(of: ["", "1.1"]),
            "came": one(of: ["", "online"]), "connections": one(of: ["1", "2"]),
            "leaseEnd": leaseEnd(of: node),
          ], and: watched))
    }

    private mutating func signOut() -> ClusterStep {
      let node = one(of: Self.nodes)
      return .operation(
        ClusterCall(
          "signOut", keys: ["signed", "\(node):signed"],
          [
            "bus": "users:bus", "user": one(of: Self.users), "left": "offline",
            "connections": one(of: ["1", "2"]), "leaseEnd": leaseEnd(of: node),
          ]))
    }

    private mutating func lease() -> [ClusterStep] {
      let node = one(of: Self.nodes)
      if random.below(2) == 0 {
        return [
          .operation(
            ClusterCall(
              "beat", keys: ["lease:\(node)"],
              [
                "content": "\(requests)", "milliseconds": one(of: ["900000", "9000000", "1"]),
                "leaseEnd": leaseEnd(of: node),
              ])), Self.pause,
        ]
      }
      let time = one(of: ["900000", "1"])
      return [
        .operation(
          ClusterCall(
            "begin", keys: ["lease:\(node)", "nodes"],
            ["content": "7", "milliseconds": time, "node": node])), Self.pause,
      ]
    }

    private mutating func probe() -> ClusterStep {
      .operation(
        ClusterCall(
          "probe", keys: ["probe", "nodes", "enrolled", "signed", "departed"],
          ["bus": "users:bus"]))
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
#endif

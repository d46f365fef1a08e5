#if Redis
  import Foundation
  import PusherCluster
  import PusherServer
  import SimulationModel
  import TestSupport
  import Testing

  @Suite("Cluster script: its table of operations")
  struct ClusterScriptTableTests {
    /// The script part of each operation, by operation name.
    private static let parts: [String: String] = {
      var parts: [String: String] = [:]
      let pieces = ClusterCall.script.text.components(separatedBy: "\nif operation == '")
      for piece in pieces.dropFirst() {
        let name = String(piece.prefix { $0 != "'" })
        parts[name] = piece.components(separatedBy: "\nend\n")[0]
      }
      return parts
    }()

    /// Returns the names that a text reads from a table of the script, such as `channel` in
    /// `a.channel`.
    private static func names(in text: String, of table: Character) throws -> Set<String> {
      let use = try Regex("\\b\(table)\\.([A-Za-z]+)", as: (Substring, Substring).self)
      return Set(text.matches(of: use).map { String($0.output.1) })
    }

    @Test func `each operation of the table has a part of the script, and no part lacks a row`() {
      #expect(Set(ClusterCall.signatures.keys) == Set(Self.parts.keys))
      #expect(Self.parts.count == 15)
    }

    @Test(arguments: ClusterCall.signatures.keys.sorted())
    func `an operation reads no name that its row lacks`(operation: String) throws {
      let signature = try #require(ClusterCall.signature(of: operation))
      let part = try #require(Self.parts[operation])
      #expect(try Self.names(in: part, of: "a").isSubset(of: signature.arguments))
      #expect(try Self.names(in: part, of: "k").isSubset(of: signature.keys))
    }

    @Test func `each name of the table is read somewhere`() throws {
      let signatures = ClusterCall.signatures.values
      let text = ClusterCall.script.text
      #expect(
        try Set(signatures.flatMap(\.arguments)) == Self.names(in: text, of: "a"))
      #expect(try Set(signatures.flatMap(\.keys)) == Self.names(in: text, of: "k"))
    }

    @Test func `a row names keys, arguments, and whether more may follow`() {
      let signIn = ClusterCall.signature(of: "signIn")
      #expect(signIn?.keys == ["users", "own", "nodes"])
      #expect(signIn?.arguments.first == "node")
      #expect(signIn?.arguments.last == "leaseEnd")
      #expect(signIn?.isOpen == true)
      #expect(ClusterCall.signature(of: "facts")?.arguments == [])
      #expect(ClusterCall.signature(of: "facts")?.isOpen == false)
      #expect(ClusterCall.signature(of: "join")?.arguments.count == 15)
      #expect(ClusterCall.signature(of: "dance") == nil)
    }

    @Test func `a call fits when its names stand in the order of the row`() {
      let keys = ["lease"]
      let right = ClusterCall(
        "beat", keys: keys, ["content": "7", "milliseconds": "1", "leaseEnd": "9"])
      let swapped = ClusterCall(
        "beat", keys: keys, ["milliseconds": "1", "content": "7", "leaseEnd": "9"])
      let longer = ClusterCall(
        "beat", keys: keys, ["content": "7", "milliseconds": "1", "leaseEnd": "9"], and: ["more"])
      #expect(right.fitsSignature)
      #expect(!swapped.fitsSignature)
      #expect(!longer.fitsSignature)
      #expect(!ClusterCall("dance", keys: [String]()).fitsSignature)
    }
  }

  @Suite(
    "Cluster script: with a real server", .runsPrograms, .timeLimit(.minutes(10)),
    .enabled(if: RedisServer.isInstalled))
  struct ClusterScriptServerTests {
    private static let file = URL(filePath: #filePath)
      .appending(path: "../../../../Sources/PusherCluster/Lua/cluster.lua")
      .standardized.path

    private static let keys = [
      "counts", "users", "members", "byNode", "event", "departed", "order",
    ]

    @Test func `redis-cli runs the file as it stands`() throws {
      let server = try RedisServer()
      let answer = try server.cli(
        "--eval", Self.file, "lease", "nodes", ",", "begin", "7", "60000", "node")
      #expect(Int64(answer.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 > 60_000)
      #expect(try server.cli("GET", "lease") == "7\n")
      #expect(try server.cli("SCRIPT", "EXISTS", ClusterCall.script.sha1) == "1\n")
    }

    @Test(
      arguments: [
        (["dance"], "unknown operation"), ([], "unknown operation"),
        (["facts", "more"], "wrong number of arguments for facts"),
        (["holdAgain", "c", "0", ""], "wrong number of arguments for holdAgain"),
        (
          ["signIn", "node", "answers", "1", "bus", "ann", "1.1", "on", "1"],
          "number of keys for signIn"
        ),
      ])
    func `a call that the table does not know is an error and changes nothing`(
      words: [String], reason: String
    ) throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      let script = ["EVAL", ClusterCall.script.text, "7"] + Self.keys + words
      guard case .error(let text) = try test.result(script).get() else {
        Issue.record("no error")
        return
      }
      #expect(text.contains(reason))
      #expect(try server.cli("DBSIZE") == "0\n")
    }

    @Test func `departures come a hundred at a time, the earliest first`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      var model = RedisModel()
      for number in 0..<150 {
        let call = ClusterCall(
          "holdAgain", keys: Self.keys,
          [
            "channel": "c", "isMember": "1", "user": "\(150 - number)",
            "delay": "\(number * 60_000 - 100_000_000)",
          ])
        #expect(try test.run(call) == .integer(2))
        #expect(model.run(call, at: 1) == .integer(2))
      }
      let take = ClusterCall("takeDepartures", keys: ["departed"], ["which": ""])
      for count in [100, 50, 0] {
        let answer = try test.run(take)
        guard case .array(let departures) = answer else { throw RedisFailure.down }
        #expect(departures.count == count)
        #expect(model.run(take, at: 1) == answer)
      }
    }
  }
#endif

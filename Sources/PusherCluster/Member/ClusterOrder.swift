internal import PusherCore
internal import PusherServer

protocol RedisWord { var redisBytes: [UInt8] { get } }

extension String: RedisWord { var redisBytes: [UInt8] { Array(utf8) } }

extension RedisWord where Self: BinaryInteger { var redisBytes: [UInt8] { Array("\(self)".utf8) } }

extension Int: RedisWord {}
extension Int64: RedisWord {}

extension [UInt8]: RedisWord { var redisBytes: [UInt8] { self } }

/// A request of a member to Redis.
///
/// A class, because an order goes through several queues, and copies of its words would cost more
/// than the rest of its way.
package final class ClusterOrder {
  package enum Action: Equatable {
    case call(ClusterCall)
    case command([[UInt8]])
    /// Subscribes to a channel; the answer is ``RedisReply/null``.
    case subscribe([UInt8])
    /// Has no answer.
    case unsubscribe([UInt8])
  }

  package let action: Action
  let purpose: Purpose
  let registration: Int

  init(action: Action, purpose: Purpose, registration: Int) {
    (self.action, self.purpose, self.registration) = (action, purpose, registration)
  }

  enum Purpose {
    case nothing
    /// Checks for a refusal only; the text names the command.
    case check(String)

    // The registration.
    case listening
    /// True if Redis still lists the former name of this node.
    case wasKnown
    /// True if another node reported the members under the former name as gone.
    case wasReaped
    case began
    case entered
    case rejoined(EntrySlice)
    case probe
    case gathering

    // The lease.
    case sign
    case nodes
    case leases([String])

    // The sockets.
    case followed(RedisChannel)
    case join(String)
    case page(String, RedisChannel)
    case signIn
    case leave(String, Member?)
    case signOut(userID: String)
    case count(String)

    case publish
    case question(Int, QuestionStep)
    /// Takes the due departures, or `all`.
    case departures(all: Bool)
    case cleaning(Int, CleaningStep)
    case reap(node: String)
  }

  enum QuestionStep {
    case admission
    case facts(String)
    case members(String)
    case nodes(prefix: String)
    case names(prefix: String)
  }

  enum CleaningStep {
    case mark
    case step
    case channels
    case users
    case channel(String)
  }
}

/// The Lua script of the cluster; each operation is one change of an app's state in Redis.
package enum ClusterScript {
  package static let script = RedisScript(
    String(decoding: PackageResources.cluster_lua, as: UTF8.self))
}

package struct ClusterCall: Sendable, Equatable {
  package let operation: String
  package let keys: [[UInt8]]
  package let names: [String]
  /// The operation, the named arguments, then any further arguments.
  package let words: [[UInt8]]

  package init(_ operation: String, keys: [[UInt8]], names: [String], _ values: [[UInt8]]) {
    (self.operation, self.keys, self.names) = (operation, keys, names)
    words = [Array(operation.utf8)] + values
  }
}

extension RedisLink {
  /// Runs an operation of the cluster, with the result as from ``run(_:keys:arguments:_:)``.
  package func run(_ call: ClusterCall, _ reply: @escaping (RedisResult) -> Void) {
    run(ClusterScript.script, keys: call.keys, arguments: call.words, reply)
  }
}

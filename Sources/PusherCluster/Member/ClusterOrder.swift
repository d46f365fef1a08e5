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

  /// Handles the answer; it gets the member that made the order.
  typealias Answer = (RedisMember, RedisResult) -> Void

  package let action: Action
  /// Number of the registration that made the order.
  let registration: Int
  let answer: Answer

  init(_ action: Action, registration: Int, _ answer: @escaping Answer) {
    (self.action, self.registration, self.answer) = (action, registration, answer)
  }
}

/// A call of the cluster's Lua script; each operation is one change of an app's state in Redis.
package struct ClusterCall: Sendable, Equatable {
  package static let script = RedisScript(
    String(decoding: PackageResources.cluster_lua, as: UTF8.self))

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
    run(ClusterCall.script, keys: call.keys, arguments: call.words, reply)
  }
}

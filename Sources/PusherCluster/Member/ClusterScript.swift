internal import PusherCore

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

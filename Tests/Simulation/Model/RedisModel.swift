import PusherCluster

package struct RedisPublication: Sendable, Equatable {
  package let channel: [UInt8]
  package let payload: [UInt8]
}

/// Redis without I/O, as the nodes of a cluster use it: the operations of ``ClusterCall`` and the
/// commands of nodes.
///
/// The time is an argument, in milliseconds of Redis' clock. Nodes use a key for one kind of value
/// only, so the error `WRONGTYPE` never occurs. Hashes keep the order in which their fields were
/// set; sets are ordered by bytes.
package struct RedisModel: Sendable {
  /// Identifies the process in the answer to `INFO server`.
  package private(set) var runID = ""
  private var processes = 0
  var data = RedisData()
  private var subscriptions: [RedisName: Set<Int64>] = [:]
  private var connections: Set<Int64> = []
  private var lastConnection: Int64 = 0
  private var published: [RedisPublication] = []
  var now: Int64 = 0
  /// Number of entries in a page of a hash, about.
  let pageSize: Int

  package init(pageSize: Int = 100) {
    self.pageSize = pageSize
    replace()
  }

  // MARK: Faults

  package mutating func flushAll() { data = RedisData() }

  /// Replaces Redis by another, empty process; all connections are lost.
  package mutating func replace() {
    processes += 1
    let number = String(processes, radix: 16)
    runID = String(repeating: "0", count: 40 - number.utf8.count) + number
    flushAll()
    (subscriptions, connections) = ([:], [])
  }

  // MARK: Connections

  package mutating func connect() -> Int64 {
    lastConnection += 1
    connections.insert(lastConnection)
    return lastConnection
  }

  package func isOpen(_ connection: Int64) -> Bool { connections.contains(connection) }

  /// Closes a connection; returns false if it was closed.
  @discardableResult
  package mutating func close(_ connection: Int64) -> Bool {
    for (channel, receivers) in subscriptions where receivers.contains(connection) {
      unsubscribe(connection, from: channel)
    }
    return connections.remove(connection) != nil
  }

  package mutating func subscribe(_ connection: Int64, to channel: RedisName) {
    subscriptions[channel, default: []].insert(connection)
  }

  package mutating func unsubscribe(_ connection: Int64, from channel: RedisName) {
    subscriptions[channel]?.remove(connection)
    if subscriptions[channel]?.isEmpty == true { subscriptions[channel] = nil }
  }

  /// Returns the subscribers of the channel, in the order in which they connected.
  package func receivers(of channel: [UInt8]) -> [Int64] {
    (subscriptions[RedisName(channel)] ?? []).sorted()
  }

  func receiverCount(of channel: RedisName) -> Int64 { Int64(subscriptions[channel]?.count ?? 0) }

  // MARK: Messages

  @discardableResult
  mutating func publish(_ payload: [UInt8], on channel: [UInt8]) -> Int64 {
    published.append(RedisPublication(channel: channel, payload: payload))
    return receiverCount(of: RedisName(channel))
  }

  package mutating func takePublished() -> [RedisPublication] {
    defer { published = [] }
    return published
  }

  // MARK: Calls

  /// Runs an operation of the cluster.
  ///
  /// Returns an error for an unknown operation, and for names that differ from the script's table.
  package mutating func run(_ call: ClusterCall, at milliseconds: Int64) -> RedisReply {
    guard call.fitsSignature, let signature = ClusterCall.signature(of: call.operation) else {
      return .error("ERR the keys or arguments of \(call.operation) are not those of cluster.lua")
    }
    begin(at: milliseconds)
    return run(RedisModelCall(call: call, keyNames: signature.keys))
  }

  mutating func begin(at milliseconds: Int64) {
    now = milliseconds
    data.expire(at: milliseconds)
  }

  private mutating func run(_ call: RedisModelCall) -> RedisReply {
    switch call.operation {
    case "join": join(call)
    case "enter": enter(call)
    case "leave": leave(call)
    case "reap": reap(call)
    case "facts": facts(call)
    case "keep": keep(call)
    case "tellCount": tellCount(call)
    case "beginStreams": beginStreams(call)
    case "publish": publish(call)
    case "replay": replay(call)
    case "signIn": signIn(call)
    case "signOut": signOut(call)
    case "begin": begin(call)
    case "beat": beat(call)
    case "admit": admit(call)
    case "takeDepartures": takeDepartures(call)
    case "holdAgain": holdAgain(call)
    case "probe": probe(call)
    default: .error("ERR the model lacks \(call.operation)")
    }
  }
}

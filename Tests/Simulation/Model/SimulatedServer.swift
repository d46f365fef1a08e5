import PusherCluster
import PusherCore
import PusherServer

/// A server without sockets, with two connections to a ``RedisModel``; the caller decides on each
/// delivery.
package final class SimulatedServer: Cluster {
  package let applications: Applications
  package private(set) var group: RedisMemberGroup
  /// Orders on their way to Redis, in their order, on each connection.
  package private(set) var commands: [RedisMemberGroup.Order] = []
  package private(set) var subscriptions: [RedisMemberGroup.Order] = []
  /// Replies and messages on their way to the server, on each connection.
  package private(set) var replies: [(order: RedisMemberGroup.Order, reply: RedisReply)] = []
  package private(set) var messages: [Message] = []
  /// The published bytes among them.
  package private(set) var messageBytes = 0
  /// The numbers of the connections; `nil` without a link.
  package private(set) var connections: (commands: Int64, messages: Int64)?
  package var now = Instant(nanoseconds: 0)

  package enum Message {
    case confirmation(RedisMemberGroup.Order)
    case published([UInt8], [UInt8])
  }

  package init(random: any RandomNumberGenerator) {
    group = RedisMemberGroup(database: 0, secret: nil, webhookDelay: .zero, random: random, at: now)
    applications = Applications(
      limits: ServerLimits(), dialect: .pusher, text: MessageText(dialect: .pusher),
      random: random)
  }

  package var hub: Hub { applications.hubs[0] }

  // MARK: The link

  package func linkUp(_ redis: inout RedisModel) {
    connections = (redis.connect(), redis.connect())
    group.linkUp(at: now)
  }

  /// Breaks the link, and returns the commands that may still reach Redis.
  package func lose(_ reason: String) -> [RedisMemberGroup.Order] {
    let (lost, unanswered) = (commands, replies.map(\.order) + commands + subscriptions)
    let waiting = messages.compactMap {
      if case .confirmation(let order) = $0 { order } else { nil }
    }
    (commands, subscriptions, replies, messages) = ([], [], [], [])
    (connections, messageBytes) = (nil, 0)
    for order in unanswered + waiting {
      group.receive(.failure(.ended("redis")), for: order, at: now)
    }
    group.linkLost(reason, at: now)
    return lost
  }

  // MARK: Deliveries

  /// Brings the next command to Redis at `time`, in ms; returns false if there is none.
  package func sendCommand(_ redis: inout RedisModel, at time: Int64) -> Bool {
    guard let connections, !commands.isEmpty else { return false }
    let order = commands.removeFirst()
    replies.append((order, redis.run(order.action, at: time, from: connections.commands)))
    return true
  }

  /// Brings the next subscription to Redis; returns false if there is none.
  package func sendSubscription(_ redis: inout RedisModel, at time: Int64) -> Bool {
    guard let connections, !subscriptions.isEmpty else { return false }
    let order = subscriptions.removeFirst()
    _ = redis.run(order.action, at: time, from: connections.messages)
    if case .subscribe = order.action { messages.append(.confirmation(order)) }
    return true
  }

  /// Puts a published message on its way to this server.
  package func publish(_ channel: [UInt8], _ payload: [UInt8]) {
    messages.append(.published(channel, payload))
    messageBytes += payload.count
  }

  /// Brings the next reply to the server; returns false if there is none.
  package func takeReply() -> Bool {
    guard !replies.isEmpty else { return false }
    let (order, reply) = replies.removeFirst()
    group.receive(.success(reply), for: order, at: now)
    return true
  }

  /// Brings the next message to the server; returns false if there is none.
  package func takeMessage() -> Bool {
    guard !messages.isEmpty else { return false }
    switch messages.removeFirst() {
    case .confirmation(let order): group.receive(.success(.null), for: order, at: now)
    case .published(let channel, let payload):
      messageBytes -= payload.count
      group.take(channel, payload, at: now)
    }
    return true
  }

  /// Puts the orders on their way, and passes the news to the hubs.
  package func handOn() {
    repeat {
      while let order = group.nextOrder() {
        switch order.action {
        case .call, .command: commands.append(order)
        case .subscribe, .unsubscribe: subscriptions.append(order)
        }
      }
      guard connections == nil else { continue }
      for order in commands + subscriptions {
        group.receive(.failure(.down), for: order, at: now)
      }
      (commands, subscriptions) = ([], [])
    } while applications.hubs.contains { $0.handleNews(at: now) }
  }

  package func tick() {
    if group.deadline <= now { group.tick(at: now) }
    for hub in applications.hubs { hub.tick(at: now) }
  }

  // MARK: Cluster

  package func place(for setup: AppSetup) -> any ClusterMember { group.place(for: setup, at: now) }
  package func giveUp(_ place: any ClusterMember) { group.giveUp(place, at: now) }
  package var failure: String? { group.failure }
  package var isSettled: Bool { group.isSettled }
  package func flush(at now: Instant) { handOn() }
  package func takeLog() -> [ServerLogEvent] { group.takeLog() }
  package func resign(at now: Instant) { group.resign(at: now) }
  package var hasResigned: Bool { group.hasResigned }
  package func close() {}
}

extension RedisModel {
  package mutating func run(
    _ action: ClusterOrder.Action, at milliseconds: Int64, from connection: Int64
  ) -> RedisReply {
    switch action {
    case .call(let call): run(call, at: milliseconds)
    case .command(let words): run(words, at: milliseconds, from: connection)
    case .subscribe(let channel):
      run([Array("SUBSCRIBE".utf8), channel], at: milliseconds, from: connection)
    case .unsubscribe(let channel):
      run([Array("UNSUBSCRIBE".utf8), channel], at: milliseconds, from: connection)
    }
  }
}

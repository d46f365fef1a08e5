import PusherCluster
import PusherCore
import PusherServer
import SimulationModel
import TestSupport
import Testing

/// A hub's member of a cluster: requests go to Redis, and its answers come back.
struct `Redis member` {
  private final class Rig {
    let member: RedisMember
    var redis = RedisModel()
    private let connection: Int64
    var now = Instant(nanoseconds: 1_000_000_000)

    init(isRegistered: Bool = true) {
      member = RedisMember(
        AppSetup(.forTests(), limits: ServerLimits(), service: .pusher, dialect: .pusher),
        database: 0, webhookDelay: .zero, random: SeededGenerator(seed: 1), at: now)
      connection = redis.connect()
      if isRegistered { register() }
    }

    /// A socket asks to join a channel; returns the number of its answer.
    @discardableResult func join(_ channel: String = "c") -> Int? {
      member.connect("1.1")
      let question = JoinRequest(channel: channel, socketID: "1.1", member: nil)
      guard case .later(let number) = member.ask(.join(question), at: now) else { return nil }
      return number
    }

    var isJoined: Bool {
      member.takeNews().contains { if case .answer(_, .joined) = $0 { true } else { false } }
    }

    static func words(_ order: ClusterOrder) -> String {
      switch order.action {
      case .call(let call): call.operation
      case .command(let words): String(decoding: words[0], as: UTF8.self)
      case .subscribe: "SUBSCRIBE"
      case .unsubscribe: "UNSUBSCRIBE"
      }
    }

    func orders() -> [ClusterOrder] {
      var orders: [ClusterOrder] = []
      while let order = member.nextOrder() { orders.append(order) }
      return orders
    }

    func answer(_ order: ClusterOrder) {
      if case .unsubscribe = order.action { return }
      let reply = redis.run(order.action, at: now.nanoseconds / 1_000_000, from: connection)
      let isSubscription = if case .subscribe = order.action { true } else { false }
      member.receive(.success(isSubscription ? .null : reply), for: order, at: now)
      for message in redis.takePublished() {
        guard redis.receivers(of: message.channel).contains(connection) else { continue }
        member.take(message.payload, from: message.channel, at: now)
      }
    }

    /// Answers until the member has no more requests.
    ///
    /// Returns the words of all requests.
    @discardableResult func answerAll() -> [String] {
      var told: [String] = []
      while let order = member.nextOrder() {
        told.append(Self.words(order))
        answer(order)
      }
      return told
    }

    func answer(until words: String) -> ClusterOrder? {
      while let order = member.nextOrder() {
        if Self.words(order) == words { return order }
        answer(order)
      }
      return nil
    }

    @discardableResult func register() -> [String] {
      member.register(isFenced: true, at: now)
      return answerAll()
    }

    /// The member waits for other nodes to return, then checks again.
    func passLease() {
      now = now.advanced(by: RedisMember.lease)
      member.look(at: now)
      answerAll()
    }
  }

  // MARK: Registration

  @Test func `a member listens first, then reads Redis, begins a lease and tells the others`() {
    let rig = Rig(isRegistered: false)
    #expect(!rig.member.isActive)
    #expect(
      rig.register().prefix(7) == [
        "UNSUBSCRIBE", "SUBSCRIBE", "SUBSCRIBE", "probe", "begin", "EXISTS", "SADD",
      ])
    #expect(rig.member.isActive)
    #expect(rig.redis.run([Array("PING".utf8)], at: 1) == .status("PONG"))
  }

  @Test func `what sockets ask before a member takes part is asked when it does`() {
    let rig = Rig(isRegistered: false)
    #expect(rig.join() != nil)
    #expect(rig.orders().isEmpty)
    rig.register()
    #expect(rig.isJoined)
  }

  @Test func `what a socket asked that has left meanwhile is dropped, and that is told`() throws {
    let rig = Rig(isRegistered: false)
    let number = try #require(rig.join())
    rig.member.disconnect("1.1")
    rig.register()
    let dropped = rig.member.takeNews().compactMap { news -> Int? in
      if case .dropped(let number) = news { number } else { nil }
    }
    #expect(dropped == [number])
  }

  @Test func `an answer to an earlier registration changes nothing`() {
    let rig = Rig(isRegistered: false)
    rig.member.register(isFenced: true, at: rig.now)
    let early = rig.orders()
    rig.member.register(isFenced: true, at: rig.now)
    let count = rig.orders().count
    for order in early { rig.answer(order) }
    #expect(rig.orders().isEmpty && count == early.count)
    #expect(!rig.member.isActive)
  }

  @Test func `a refusal stops a member, and the next sign of life tries again`() throws {
    let rig = Rig()
    rig.member.beat(at: rig.now)
    let order = try #require(rig.member.nextOrder())
    rig.member.receive(.success(.error("OOM command not allowed")), for: order, at: rig.now)
    #expect(!rig.member.isActive)
    rig.answerAll()
    #expect(!rig.member.isActive, "it waits")
    rig.member.beat(at: rig.now)
    rig.answerAll()
    rig.passLease()
    #expect(rig.member.isActive)
  }

  @Test func `an emptied Redis is noticed by the next join, which is then answered`() {
    let rig = Rig()
    rig.redis.flushAll()
    rig.join()
    rig.answerAll()
    rig.passLease()
    #expect(rig.member.isActive && rig.isJoined)
  }

  // MARK: Joins

  @Test func `joins are sent in the order in which sockets asked`() {
    let rig = Rig()
    for channel in ["a", "b"] { rig.join(channel) }
    let orders = rig.orders()
    // The second channel is confirmed first.
    rig.answer(orders[3])
    #expect(rig.orders().isEmpty)
    rig.answer(orders[1])
    #expect(rig.orders().map(Rig.words) == ["join", "join"])
  }

  // MARK: Calls

  @Test func `before a member takes part nothing is known, and nothing is admitted`() {
    let rig = Rig(isRegistered: false)
    let questions: [ClusterQuestion] = [
      .facts(["c"]), .channels(prefix: ""), .admit(events: 1, bytes: 1),
    ]
    for question in questions {
      guard case .answered(.unavailable) = rig.member.ask(question, at: rig.now) else {
        Issue.record("known")
        return
      }
    }
  }

  @Test(arguments: [true, false])
  func `a call waits for the events on their way, and learns of their fate`(isTaken: Bool) throws {
    let rig = Rig()
    guard case .answered(.published) = rig.member.ask(.published, at: rig.now) else {
      Issue.record("nothing is on its way")
      return
    }
    let event = ChannelEvent(name: "e", channel: "c", data: .string("1"))
    guard case .everywhere = rig.member.publish(event, at: rig.now),
      case .later(let number) = rig.member.ask(.published, at: rig.now)
    else {
      Issue.record("answered")
      return
    }
    let order = try #require(rig.member.nextOrder())
    rig.member.receive(isTaken ? .success(.integer(0)) : .failure(.down), for: order, at: rig.now)
    switch rig.member.takeNews().last {
    case .answer(number, .published): #expect(isTaken)
    case .answer(number, .unavailable): #expect(!isTaken)
    default: Issue.record("no answer")
    }
  }

  // MARK: The end

  @Test func `a member leaves the others once Redis has heard of all departures`() throws {
    let rig = Rig()
    rig.join()
    rig.answerAll()
    rig.member.leave("c", userID: nil, at: rig.now)
    rig.member.disconnect("1.1")
    let departure = try #require(rig.answer(until: "leave"))
    rig.member.resign(at: rig.now)
    #expect(rig.orders().map(Rig.words) == ["UNSUBSCRIBE"])
    rig.answer(departure)
    #expect(rig.answerAll() == ["SREM", "DEL", "SREM", "SREM"])
    #expect(!rig.member.isActive)
  }
}

import PusherCluster
import PusherCore
import PusherServer

/// Servers on a model of Redis, with their clients, through one schedule.
///
/// The schedule decides on time, delays and faults. It ends with a calm time, after which the
/// promises of docs/endurance.md must hold.
package final class Simulation {
  package static let serverCount = 3
  static let channels = ["a", "cache-b", "presence-p", "presence-q"]
  static let users = ["u", "v", "w"]
  /// Redis closes a connection that has more bytes of messages to carry.
  private static let outputLimit = 64 << 10

  private enum Life { case running, stopped, killed, resigning }

  /// Orders of a broken link that are on their way to Redis.
  private struct StaleOrders {
    let connection: Int64
    var orders: [RedisMemberGroup.Order]
  }

  /// Its pages are small, so that members come and go between them.
  private var redis = RedisModel(pageSize: 2)
  private var servers: [SimulatedServer] = []
  private var lives: [Life] = []
  private var clients: [SimulatedClient] = []
  private var stale: [StaleOrders] = []
  /// Time since the start, in milliseconds; Redis' clock differs by `skew`.
  private var time: Int64 = 1000
  private var skew: Int64 = 0
  private var number = 0
  private var published: [String: [String]] = [:]
  /// The event with each serial of the first channel, and the last serial of each stream.
  private var serials: [String: String] = [:]
  private var heads: [String: Int] = [:]
  private var complaint: String?
  /// Clients of V2 without a connection.
  private var orphans: [SimulatedClient] = []
  private let hasFaults: Bool
  /// Webhooks of arrivals less webhooks of departures, by channel and user.
  private var balance: [String: Int] = [:]

  private init(_ schedule: Schedule) {
    hasFaults = schedule.hasFaults
    for index in 0..<Self.serverCount {
      servers.append(server(index))
      lives.append(.running)
      servers[index].linkUp(&redis)
    }
    deliverAll()
  }

  /// Runs a schedule, and returns the first violation; `nil` for none.
  package static func run(_ schedule: Schedule) -> String? {
    let simulation = Simulation(schedule)
    for step in schedule.steps {
      simulation.perform(step)
      let all = simulation.clients + simulation.orphans
      if let complaint = simulation.complaint ?? all.lazy.compactMap(\.complaint).first {
        return complaint
      }
      if case .calm = step, let violation = simulation.violation() { return violation }
    }
    return nil
  }

  private func server(_ index: Int) -> SimulatedServer {
    number += 1
    let server = SimulatedServer(random: Draw(seed: UInt64(number * 7919 + index)))
    server.now = now
    var application = Application(id: "1", key: "k", secret: "s")
    application.webhooks = [Self.receiver].compactMap(\.self)
    let setup = AppSetup(application, limits: ServerLimits(), service: .pusher, dialect: .pusher)
    server.applications.renew([setup], in: server)
    return server
  }

  private static let receiver = try? HTTPURL(parsing: "http://127.0.0.1:1/")

  private var now: Instant { Instant(nanoseconds: time * 1_000_000) }
  private var redisTime: Int64 { time + skew + 1_000_000 }

  private func isLive(_ index: Int) -> Bool {
    lives[index] == .running || lives[index] == .resigning
  }

  // MARK: Steps

  private func perform(_ step: Schedule.Step) {
    switch step {
    case .wait(let milliseconds): wait(Int64(milliseconds))
    case .deliver(let count, let draw): deliver(count, draw)
    case .settle: deliverAll()
    case .connect(let server): connect(server)
    case .connectV2(let server): connectV2(server)
    case .subscribe(let client, let channel, let user): subscribe(client, channel, user)
    case .unsubscribe(let client, let channel): unsubscribe(client, channel)
    case .signIn(let client, let user): signIn(client, user)
    case .disconnect(let client): at(client).map(disconnect)
    case .publish(let server, let channel): publish(server, Self.channels[channel])
    case .cut(let server, let arriving): cut(server, arriving: arriving)
    case .reconnect(let server): reconnect(server)
    case .arrive(let count): arrive(count)
    case .stop(let server): if case .running = lives[server] { lives[server] = .stopped }
    case .go(let server): if case .stopped = lives[server] { lives[server] = .running }
    case .kill(let server): kill(server)
    case .start(let server): start(server)
    case .resign(let server): resign(server)
    case .flush: redis.flushAll()
    case .replace: replace()
    case .skew(let milliseconds): skew += Int64(milliseconds)
    case .calm: calm()
    }
    for index in servers.indices where isLive(index) { handOn(index) }
  }

  private func handOn(_ index: Int) {
    servers[index].now = now
    servers[index].handOn()
    note(servers[index].hub.takeNotices())
    for client in clients where client.server == index && !client.isOpen {
      servers[index].hub.disconnect(client, at: now)
    }
    removeClients { $0.server == index && !$0.isOpen }
    servers[index].handOn()
    _ = servers[index].hub.takeLog()
  }

  /// Lets time pass in short steps; without faults, all messages arrive meanwhile.
  private func wait(_ milliseconds: Int64) {
    let end = time + milliseconds
    while time < end {
      time = min(time + 200, end)
      for index in servers.indices where isLive(index) {
        servers[index].now = now
        servers[index].tick()
        handOn(index)
      }
      if !hasFaults { deliverAll() }
    }
  }

  private func at(_ client: Int) -> SimulatedClient? {
    guard !clients.isEmpty else { return nil }
    let client = clients[client % clients.count]
    return lives[client.server] == .running ? client : nil
  }

  private func connect(_ index: Int) {
    guard lives[index] == .running, clients.count < 8 else { return }
    number += 1
    let client = SimulatedClient("1.\(number)", server: index)
    clients.append(client)
    servers[index].hub.connect(client)
  }

  private func connectV2(_ index: Int) {
    guard lives[index] == .running, clients.count < 8 else { return }
    number += 1
    let former = orphans.isEmpty ? nil : orphans.removeFirst()
    let client = SimulatedClient("1.\(number)", server: index, speaksV2: true, after: former)
    clients.append(client)
    let (hub, name) = (servers[index].hub, Self.channels[0])
    hub.beginStreams(life: "")
    hub.connect(client)
    if let place = client.places[name] { hub.resume(client, from: [(name, place)], at: now) }
    client.subscriptions.insert(name)
    hub.subscribe(client, to: name, as: nil, at: now)
  }

  private func subscribe(_ client: Int, _ channel: Int, _ user: Int) {
    guard let client = at(client), !client.speaksV2 else { return }
    let (name, user) = (Self.channels[channel], Self.users[user])
    guard !client.subscriptions.contains(name) else { return }
    client.subscriptions.insert(name)
    let isPresence = name.hasPrefix("presence-")
    client.users[name] = isPresence ? user : nil
    servers[client.server].hub.subscribe(
      client, to: name, as: isPresence ? Member(userID: user) : nil, at: now)
  }

  private func unsubscribe(_ client: Int, _ channel: Int) {
    guard let client = at(client), !client.speaksV2,
      client.subscriptions.contains(Self.channels[channel])
    else { return }
    client.leave(Self.channels[channel])
    servers[client.server].hub.leave(client, Self.channels[channel], at: now)
  }

  private func signIn(_ client: Int, _ user: Int) {
    guard let client = at(client), client.user == nil else { return }
    let user = SignedInUser(member: Member(userID: Self.users[user]), watchlist: Self.users)
    servers[client.server].hub.signIn(client, as: user, (auth: "", userData: ""), at: now)
  }

  private func disconnect(_ client: SimulatedClient) {
    client.end()
    handOn(client.server)
  }

  private func publish(_ index: Int, _ channel: String) {
    guard lives[index] == .running else { return }
    number += 1
    servers[index].hub.publish(name: "e", channel: channel, data: .string("\(number)"), at: now)
  }

  // MARK: Deliveries

  private func deliver(_ count: Int, _ draw: UInt64) {
    var random = Draw(seed: draw)
    for _ in 0..<count {
      _ = move(random.below(Self.serverCount), lane: random.below(4))
    }
  }

  /// Delivers the next item of a lane; returns false if there is none.
  private func move(_ index: Int, lane: Int) -> Bool {
    let server = servers[index]
    var hasMoved = false
    switch lane {
    case 0: hasMoved = server.sendCommand(&redis, at: redisTime)
    case 1: hasMoved = server.sendSubscription(&redis, at: redisTime)
    case 2 where isLive(index): hasMoved = server.takeReply()
    case 3 where isLive(index): hasMoved = server.takeMessage()
    default: break
    }
    route()
    if hasMoved, lane > 1 { handOn(index) }
    return hasMoved
  }

  private func route() {
    for message in redis.takePublished() {
      note(message)
      let receivers = redis.receivers(of: message.channel)
      for (index, server) in servers.enumerated()
      where receivers.contains(server.connections?.messages ?? 0) {
        server.publish(message.channel, message.payload)
        if server.messageBytes > Self.outputLimit { cut(index, arriving: 0) }
      }
    }
  }

  private func note(_ message: RedisPublication) {
    guard let fields = RedisFields.decode(message.payload), fields.count >= 5, fields[0] == "m",
      fields[2] != "0", let event = try? JSONParser.parse(fields[4])["data"]?.text
    else { return }
    published[fields[1], default: []].append(event)
    guard fields.count == 7, let serial = Int(fields[6]) else { return }
    let (id, former) = (fields[5], heads[fields[5]] ?? 0)
    if serial != former + 1 { complaint = "serial \(serial) of \(id) comes after \(former)" }
    heads[id] = serial
    serials["\(id) \(serial)"] = event
  }

  private func deliverAll() {
    for index in servers.indices where isLive(index) { handOn(index) }
    var hasMoved = true
    while hasMoved {
      hasMoved = false
      for index in servers.indices {
        for lane in 0..<4 { while move(index, lane: lane) { hasMoved = true } }
      }
    }
  }

  // MARK: Faults

  private func cut(_ index: Int, arriving: Int) {
    let server = servers[index]
    guard let connection = server.connections else { return }
    redis.close(connection.messages)
    server.now = now
    stale.append(StaleOrders(connection: connection.commands, orders: server.lose("cut")))
    arrive(arriving)
  }

  private func reconnect(_ index: Int) {
    guard isLive(index), servers[index].connections == nil else { return }
    servers[index].now = now
    servers[index].linkUp(&redis)
  }

  /// Delivers orders of broken links, unless Redis has closed their connections.
  private func arrive(_ count: Int) {
    for _ in 0..<count {
      guard !stale.isEmpty else { return }
      let connection = stale[0].connection
      if redis.isOpen(connection), !stale[0].orders.isEmpty {
        let order = stale[0].orders.removeFirst()
        _ = redis.run(order.action, at: redisTime, from: connection)
        route()
      } else {
        redis.close(connection)
        stale.removeFirst()
      }
    }
  }

  private func kill(_ index: Int) {
    guard lives[index] == .running || lives[index] == .stopped else { return }
    cut(index, arriving: 2)
    lives[index] = .killed
    for client in clients where client.server == index { client.end() }
    removeClients { $0.server == index }
  }

  private func removeClients(where isGone: (SimulatedClient) -> Bool) {
    orphans += clients.filter { isGone($0) && $0.speaksV2 }
    clients.removeAll(where: isGone)
  }

  private func start(_ index: Int) {
    guard lives[index] == .killed else { return }
    servers[index] = server(index)
    lives[index] = .running
    servers[index].linkUp(&redis)
  }

  private func resign(_ index: Int) {
    guard lives[index] == .running else { return }
    for client in clients where client.server == index { client.end() }
    handOn(index)
    servers[index].resign(at: now)
    lives[index] = .resigning
  }

  private func replace() {
    for index in servers.indices { cut(index, arriving: 0) }
    stale = []
    redis.replace()
  }

  // MARK: The end

  /// Ends all faults, and lets time pass until the state must be right.
  private func calm() {
    while !stale.isEmpty { arrive(1) }
    for index in servers.indices {
      if lives[index] == .stopped { lives[index] = .running }
      if servers[index].connections == nil { reconnect(index) }
    }
    // Other nodes notice a dead node after its lease, and then remove its entries.
    for _ in 0..<40 {
      deliverAll()
      wait(500)
      for index in servers.indices { reconnect(index) }
    }
    deliverAll()
  }

  private func violation() -> String? {
    for index in servers.indices where lives[index] == .running {
      if let reason = servers[index].failure { return "server \(index) is not well: \(reason)" }
    }
    let checks = [unconfirmed, wrongMembers, wrongOrder, wrongEvents, wrongPlaces]
    for check in checks { if let wrong = check() { return wrong } }
    for channel in Self.channels { if let wrong = wrongCounts(channel) { return wrong } }
    return wrongNotices() ?? leftovers()
  }

  private func note(_ notices: [WebhookNotice]) {
    for notice in notices where notice.audience != .console {
      let member = "\(notice.channel) \(notice.userID ?? "")"
      switch notice.kind {
      case .memberAdded: balance[member, default: 0] += 1
      case .memberRemoved: balance[member, default: 0] -= 1
      default: break
      }
    }
  }

  /// Checks without faults that webhooks told of all arrivals and departures.
  private func wrongNotices() -> String? {
    for channel in Self.channels where channel.hasPrefix("presence-") && !hasFaults {
      for user in Self.users {
        let told = balance["\(channel) \(user)"] ?? 0
        if told != (present(channel).contains(user) ? 1 : 0) {
          return "webhooks: \(user) of \(channel) came \(told) times more than it left"
        }
      }
    }
    return nil
  }

  private func unconfirmed() -> String? {
    for client in clients {
      for channel in client.subscriptions.sorted where !client.confirmed.contains(channel) {
        return "\(client.socketID) waits for \(channel)"
      }
    }
    return nil
  }

  private func present(_ channel: String) -> Set<String> {
    Set(clients.compactMap { $0.users[channel] })
  }

  private func wrongMembers() -> String? {
    for client in clients {
      for channel in client.users.keys.sorted() where client.members[channel] != present(channel) {
        return "\(client.socketID) on server \(client.server) knows "
          + "\((client.members[channel] ?? []).sorted()) of \(channel), there are "
          + "\(present(channel).sorted())"
      }
    }
    return nil
  }

  private func wrongOrder() -> String? {
    for client in clients {
      for (channel, events) in client.events {
        var rest = (published[channel] ?? [])[...]
        // A new subscription to a cache channel repeats the last event.
        for event in events where !channel.hasPrefix("cache-") {
          guard let place = rest.firstIndex(of: event) else {
            return "\(client.socketID) got \(event) of \(channel) out of order, or nobody sent it"
          }
          rest = rest[(place + 1)...]
        }
      }
    }
    return nil
  }

  /// Checks without faults that all subscribers get the same events.
  private func wrongEvents() -> String? {
    guard !hasFaults else { return nil }
    for channel in Self.channels {
      number += 1
      publish(0, channel)
      let event = "\(number)"
      deliverAll()
      for client in clients where client.subscriptions.contains(channel) {
        guard client.events[channel]?.last == event else {
          return "\(client.socketID) did not get \(event) of \(channel)"
        }
      }
    }
    return nil
  }

  /// Checks that each client of V2 has the last event of its stream.
  private func wrongPlaces() -> String? {
    for client in clients where client.speaksV2 {
      for (channel, place) in client.places where (heads[place.id] ?? 0) != place.serial {
        return "\(client.socketID) is at \(place) of \(channel), not at \(heads[place.id] ?? 0)"
      }
    }
    return nil
  }

  private func wrongCounts(_ channel: String) -> String? {
    let subscribed = clients.filter { $0.subscriptions.contains(channel) }.count
    for index in servers.indices where lives[index] == .running {
      guard case .later(let number) = servers[index].hub.ask(.facts([channel]), at: now) else {
        return "server \(index) cannot say how many \(channel) has"
      }
      deliverAll()
      for (given, answer) in servers[index].hub.takeAnswers() where given == number {
        guard case .facts(let facts) = answer, facts.first?.subscriptions == subscribed else {
          return "server \(index) says \(answer) of \(channel), which has \(subscribed)"
        }
      }
      let count = servers[index].hub.connectionCount
      if count != clients.count { return "server \(index) has \(count) of \(clients.count)" }
    }
    return nil
  }

  /// Checks that all servers leave, and that nothing stays in Redis.
  private func leftovers() -> String? {
    for index in servers.indices where lives[index] == .running { resign(index) }
    for _ in 0..<3 {
      deliverAll()
      wait(500)
    }
    deliverAll()
    for index in servers.indices where lives[index] == .resigning && !servers[index].hasResigned {
      return "server \(index) does not end"
    }
    return nil
  }
}

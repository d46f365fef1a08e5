internal import PusherCore

/// A hub's place among the nodes of one process.
///
/// It belongs to the node's thread.
final class LocalNode {
  weak var receiver: (any BusReceiver)?
  private let app: LocalApp
  private let index: Int
  /// Lets the sockets take what they were handed: what other nodes have brought in one go may be more than waits for a socket.
  var flush: () -> Void = {}
  /// Whether messages are being handed on: what these cause comes after them.
  private var isDelivering = false

  init(_ app: LocalApp, index: Int = 0) {
    self.app = app
    self.index = index
  }

  /// Hands on what waits for this node.
  func deliverWaiting(at now: Instant) {
    guard !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    while true {
      let waiting = app.take(index)
      if waiting.isEmpty { return }
      hand(waiting, at: now)
    }
  }

  /// Hands messages on, in portions that a socket's queue has room for.
  private func hand(_ messages: [BusMessage], at now: Instant) {
    var bytes = 0
    for message in messages {
      receiver?.deliver(message, at: now)
      bytes += message.size
      guard bytes >= NodeGroup.portion else { continue }
      bytes = 0
      flush()
    }
  }

  /// Changes the state, and hands on what that causes here.
  private func change(at now: Instant, _ body: (inout AppState) -> Void) {
    _ = app.change(by: index, body)
    deliverWaiting(at: now)
  }

  /// Changes the state, with an answer that comes between the messages before the change and those after it.
  private func change<Answer: Sendable>(
    at now: Instant, _ body: (inout AppState) -> Answer, _ answer: (Answer, Instant) -> Void
  ) {
    let (waiting, result) = app.change(by: index, takesQueue: !isDelivering, body)
    if !waiting.isEmpty {
      isDelivering = true
      hand(waiting, at: now)
      isDelivering = false
    }
    answer(result, now)
    deliverWaiting(at: now)
  }

}

extension LocalNode: Bus {
  func publish(_ event: ChannelEvent, at now: Instant) -> Int? {
    let total: Int
    if event.isKept {
      // One step, so that a new subscriber gets it either as the last event or as a new one.
      total =
        app.change(by: index) { app in
          app.keep(event, at: now)
          return app.subscriptionCount(event.channel)
        }.answer
    } else {
      total = app.ask { $0.subscriptionCount(event.channel) }
      guard total > 0 else { return 0 }
      let message = event.message(app.text)
      // A node that is alone needs no queue.
      guard app.nodes > 1 || isDelivering else {
        return receiver?.deliver(message, at: now) ?? 0
      }
      app.post(message, from: index)
    }
    deliverWaiting(at: now)
    return max(event.excluded == nil ? total : total - 1, 0)
  }

  func whenPublished(_ done: @escaping (Bool) -> Void) { done(true) }

  var isAvailable: Bool { true }

  func terminate(userID: String, at now: Instant) {
    change(at: now) { $0.terminate(userID: userID) }
  }
}

extension LocalNode: Registry {
  func adopt(_ setup: AppSetup) {
    _ = app.change(by: index) { $0.adopt(setup) }
  }

  func connect(_ socketID: String) {
    _ = app.change(by: index) { $0.connect(socketID) }
  }

  func disconnect(_ socketID: String) {
    _ = app.change(by: index) { $0.disconnect(socketID) }
  }

  func hasSocket(_ socketID: String) -> Bool { app.ask { $0.hasSocket(socketID) } }
  var connectionCount: Int { app.ask { $0.connectionCount } }
  var ownConnectionCount: Int { connectionCount }
  var isDeserted: Bool { connectionCount == 0 }
  var channelCount: Int { app.ask { $0.channelCount } }

  func hasRoom(for channel: String, limit: Int) -> Bool {
    app.ask { $0.channelCount < limit || $0.subscriptionCount(channel) > 0 }
  }

  func join(
    _ request: JoinRequest, at now: Instant, _ answer: @escaping (JoinAnswer, Instant) -> Void
  ) {
    change(at: now, { [index] in $0.join(request, node: index, at: now) }, answer)
  }

  func leave(_ channel: String, userID: String?, at now: Instant) {
    change(at: now) { [index] in $0.leave(channel, node: index, userID: userID) }
  }

  func signIn(
    _ user: SignedInUser, socketID: String, at now: Instant,
    _ answer: @escaping (NameSet, Instant) -> Void
  ) {
    change(at: now, { $0.signIn(user, socketID: socketID) }, answer)
  }

  func signOut(_ userID: String, at now: Instant) {
    change(at: now) { $0.signOut(userID) }
  }

  func admit(
    events: Int, bytes: Int, at now: Instant, _ answer: @escaping (Admission) -> Void
  ) {
    let reason = app.change(by: index) { $0.admit(events: events, bytes: bytes, at: now) }.answer
    answer(reason.map(Admission.overQuota) ?? .admitted)
  }

  func facts(
    of channels: [String], at now: Instant, _ answer: @escaping ([ChannelFacts]?) -> Void
  ) {
    answer(app.ask { app in channels.map { app.facts($0, at: now) } })
  }

  func occupiedChannels(prefix: String, _ answer: @escaping ([String]?) -> Void) {
    answer(app.ask { $0.occupiedChannels(prefix: prefix) })
  }

  func tick(at now: Instant) {
    change(at: now) { $0.tick(at: now) }
  }

  func note(_ notice: WebhookNotice) {
    _ = app.change(by: index) { $0.note(notice) }
  }

  func takeNotices() -> [WebhookNotice] {
    index == LocalApp.webhookNode ? app.takeNotices() : []
  }
}

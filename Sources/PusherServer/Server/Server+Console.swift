internal import PusherCore

// What the console is told, and what it may ask and order.
extension Server: ConsoleHost {
  package var feed: ConsoleFeed { share.feed }
  var faults: FaultScript { context.faults }
  var nodeCount: Int { share.group.count }
  var isShared: Bool { link != nil }

  func noteForConsole(_ event: ServerLogEvent, app: String?) {
    feed.note(
      ConsoleEntry.members(of: event, app: app), on: loop.wakeUp)
  }

  func noteForConsole(_ application: Application, _ notices: [WebhookNotice]) {
    for notice in notices where notice.audience != .webhooks {
      feed.note(ConsoleEntry.members(of: notice, app: application.id), on: loop.wakeUp)
    }
  }

  /// Takes what is noted for those who look on alone.
  func takeUnsentNotices() {
    for hub in applications.hubs where hub.application.webhooks.isEmpty {
      noteForConsole(hub.application, hub.takeNotices())
    }
  }

  // MARK: Questions

  func connections(ofApp id: String, _ answer: @escaping ([ConnectionFacts]) -> Void) {
    share.askAll(from: loop) { server in
      let now = server.loop.now
      return server.clients.filter { $0.isOpen && $0.hub.application.id.isSame(as: id) }.map {
        ConnectionFacts($0, age: $0.traffic.since.duration(to: now))
      }
    } _: {
      answer($0.flatMap(\.self))
    }
  }

  // MARK: Orders

  func disconnect(_ socketID: String, ofApp id: String, _ answer: @escaping (Bool) -> Void) {
    share.askAll(from: loop) { server in
      let session = server.clients.first {
        $0.socketID.isSame(as: socketID) && $0.isOpen && $0.hub.application.id.isSame(as: id)
      }
      session?.close(
        .unauthorized, reason: "disconnected by the server's operator", at: server.loop.now)
      return session != nil
    } _: {
      answer($0.contains(true))
    }
  }

  func stageGreetings() { share.stageGreetings() }

  func sendWebhook(
    _ name: String, _ body: [UInt8], ofApp id: String, _ answer: @escaping (Bool) -> Void
  ) {
    share.askAll(from: loop) { server in
      server.index == 0 && server.webhooks.send(name, body, ofApp: id)
    } _: {
      answer($0.contains(true))
    }
  }
}

extension ConnectionFacts {
  fileprivate init(_ session: ClientSession, age: Duration) {
    self.init(
      socketID: session.socketID, peer: session.carrier?.peer, age: age,
      userID: session.user?.id, channels: session.subscriptions,
      received: session.traffic.received, sent: session.traffic.sent,
      queuedBytes: session.output.count)
  }
}

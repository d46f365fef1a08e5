internal import PusherCore

extension Server: ConsoleHost {
  package var faults: FaultScript { context.faults }
  package var isShared: Bool { cluster != nil }
  package var signsChannels: Bool { options.authEndpoints != .nobody }

  /// Notes an event; a request's entry counts the events that it caused.
  ///
  /// A call runs to its end at once, so its events are the last ones before its request. With other
  /// nodes the answer comes later, after events of other calls.
  func noteForConsole(_ event: ServerLogEvent, app: String?) {
    var caused = 0
    switch event {
    case .event: if cluster == nil { eventsOfCall += 1 }
    case .request: swap(&caused, &eventsOfCall)
    default: break
    }
    feed.note(ServerEntry.members(of: event, app: app, caused: caused), on: loop.wakeUp)
  }

  func noteForConsole(_ application: Application, _ notices: [WebhookNotice]) {
    for notice in notices where notice.audience != .webhooks {
      feed.note(ServerEntry.members(of: notice, app: application.id), on: loop.wakeUp)
    }
  }

  /// Takes notices of apps without webhooks, which only observers get.
  func takeUnsentNotices() {
    for hub in applications.hubs where hub.application.webhooks.isEmpty {
      noteForConsole(hub.application, hub.takeNotices())
    }
  }

  // MARK: Questions

  package func connections(ofApp id: String) -> [ConnectionFacts] {
    sessions(ofApp: id).map { ConnectionFacts($0, age: $0.traffic.since.duration(to: loop.now)) }
  }

  private func sessions(ofApp id: String) -> [ClientSession] {
    clients.filter { $0.isOpen && $0.hub.application.id.isSame(as: id) }
  }

  // MARK: Orders

  package func disconnect(_ socketID: String, ofApp id: String) -> Bool {
    let session = sessions(ofApp: id).first { $0.socketID.isSame(as: socketID) }
    session?.close(.unauthorized, reason: "disconnected by the server's operator", at: loop.now)
    return session != nil
  }

  package func stageGreetings() { stageGreetings(at: loop.now) }

  package func sendWebhook(_ name: String, _ body: [UInt8], ofApp id: String) -> Bool {
    webhooks.send(name, body, ofApp: id)
  }
}

extension ConnectionFacts {
  fileprivate init(_ session: ClientSession, age: Duration) {
    self.init(
      socketID: session.socketID, peer: session.carrier?.peer, age: age, userID: session.user?.id,
      channels: session.subscriptions, received: session.traffic.received,
      sent: session.traffic.sent, queuedBytes: session.output.count)
  }
}

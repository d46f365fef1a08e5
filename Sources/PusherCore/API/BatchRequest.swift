/// Several events in one call, each for one channel: `POST /apps/ID/batch_events`.
package struct BatchRequest: Sendable, Equatable {
  /// How many events Pusher takes in one call; other servers may take more.
  package static let documentedCount = 10

  package typealias Event = PusherAPI.Event

  package var events: [Event]

  package init(events: [Event]) {
    self.events = events
  }

  /// The call for the app with this id; `prefix` is "" or a path that begins with a slash.
  ///
  /// - Throws: ``TriggerError`` for the first event that every server refuses. The number of events and the data's
  ///   length are left to the server.
  package func request(appID: String, prefix: String = "") throws(TriggerError) -> APIRequest {
    for event in events { try event.check() }
    return .post(appID, prefix, "batch_events", ["batch": .array(events.map(\.json))])
  }
}

extension PusherAPI.Event {
  package init(name: String, channel: String, data: String, socketID: String? = nil) {
    self.init(name, channel: channel, data: data, socketID: socketID)
  }

  /// The event in a call of its own.
  var alone: TriggerRequest {
    TriggerRequest(name: name, channels: [channel], data: data, socketID: socketID)
  }

  fileprivate var json: JSONValue {
    .object(texts: ["name": name, "channel": channel, "data": data, "socket_id": socketID])
  }

  /// Throws for what every server refuses.
  package func check() throws(TriggerError) { try alone.check() }
}

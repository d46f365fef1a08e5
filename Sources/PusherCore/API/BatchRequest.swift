/// Several events in one call, each for one channel: `POST /apps/ID/batch_events`.
package struct BatchRequest: Sendable, Equatable {
  /// How many events Pusher takes in one call; other servers may take more.
  package static let documentedCount = 10

  /// One event of the batch.
  package struct Event: Sendable, Equatable {
    package var name: String
    package var channel: String
    /// What subscribers get as `data`, byte for byte; usually JSON.
    package var data: String
    /// The socket that gets nothing.
    package var socketID: String?

    package init(name: String, channel: String, data: String, socketID: String? = nil) {
      self.name = name
      self.channel = channel
      self.data = data
      self.socketID = socketID
    }

    /// Throws for what every server refuses.
    package func check() throws(TriggerError) {
      try TriggerRequest(name: name, channels: [channel], data: data, socketID: socketID).check()
    }
  }

  package var events: [Event]

  package init(events: [Event]) {
    self.events = events
  }

  /// The call for the app with this id; `prefix` is "" or a path that begins with a slash.
  ///
  /// - Throws: ``TriggerError`` for the first event that every server refuses. The number of events and the data's
  ///   length are left to the server.
  package func request(appID: String, prefix: String = "") throws(TriggerError) -> APIRequest {
    var elements: [JSONValue] = []
    for event in events {
      try event.check()
      elements.append(
        .object(texts: [
          "name": event.name, "channel": event.channel, "data": event.data,
          "socket_id": event.socketID,
        ]))
    }
    return .post(appID, prefix, "batch_events", ["batch": .array(elements)])
  }
}

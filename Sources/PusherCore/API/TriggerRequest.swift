/// One event for one or more channels: `POST /apps/ID/events`.
package struct TriggerRequest: Sendable, Equatable {
  package static let maximumChannels = 100
  /// Maximum length of an event's name, in bytes of UTF-8.
  package static let maximumNameLength = 200
  package var name: String
  package var channels: [String]
  /// Data for subscribers, byte for byte; usually JSON.
  package var data: String
  /// Socket to exclude, usually the socket of the user who caused the event.
  package var socketID: String?
  /// Channel attributes for the response: `user_count`, `subscription_count`.
  package var info: [String]

  package init(
    name: String, channels: [String], data: String, socketID: String? = nil, info: [String] = []
  ) {
    (self.name, self.channels, self.data) = (name, channels, data)
    (self.socketID, self.info) = (socketID, info)
  }

  /// Returns the call for an app; the server checks the data's length.
  package func request(appID: String) throws(TriggerError) -> APIRequest {
    try check()
    let body = JSONValue.object(present: [
      "name": .string(name), "channels": .array(channels.map(JSONValue.string)),
      "data": .string(data), "socket_id": socketID.map(JSONValue.string),
      "info": info.isEmpty ? nil : .string(info.joined(separator: ",")),
    ])
    return .post(appID, "events", body)
  }

  /// Encrypts the data for an encrypted channel; `nonce` has 24 fresh bytes.
  package func encrypted(
    with masterKey: EncryptionMasterKey, nonce: [UInt8]
  ) throws(TriggerError) -> TriggerRequest {
    try check()
    guard ChannelKind(channelName: channels[0]) == .encrypted else { return self }
    let key: ChannelKey
    do throws(EncryptionKeyError) {
      key = try ChannelKey(sharedSecret: masterKey.sharedSecret(channel: channels[0]))
    } catch {
      // Never sent unencrypted: the service must not see the data.
      throw .invalidChannel(name: channels[0], reason: "\(error)")
    }
    var request = self
    request.data = key.seal(Array(data.utf8), nonce: nonce)
    return request
  }

  func check() throws(TriggerError) {
    if let problem = EventName.problem(in: name) { throw .invalidName(problem) }
    guard !channels.isEmpty else { throw .noChannel }
    guard channels.count <= Self.maximumChannels else {
      throw .tooManyChannels(count: channels.count, limit: Self.maximumChannels)
    }
    for channel in channels {
      if let problem = ChannelName.problem(in: channel) {
        throw .invalidChannel(name: channel, reason: problem)
      }
    }
    let isEncrypted = channels.contains { ChannelKind(channelName: $0) == .encrypted }
    // Each encrypted channel has its own key, so the same data cannot go to two of them.
    guard !isEncrypted || channels.count == 1 else { throw .encryptedAmongOthers }
    if let socketID, !SocketID.isValid(socketID) { throw .invalidSocketID(socketID) }
  }
}

/// Error for an event that cannot be sent; always the caller's fault.
package enum TriggerError: Error, Equatable, Sendable, CustomStringConvertible {
  case invalidName(String)
  case noChannel
  case tooManyChannels(count: Int, limit: Int)
  case invalidChannel(name: String, reason: String)
  case encryptedAmongOthers
  case invalidSocketID(String)

  package var description: String {
    switch self {
    case .invalidName(let reason): reason
    case .noChannel: "an event needs a channel"
    case .tooManyChannels(let count, let limit):
      "an event goes to at most \(limit) channels; this one has \(count)"
    case .invalidChannel(let name, let reason): "channel '\(name)': \(reason)"
    case .encryptedAmongOthers: "an event for an encrypted channel cannot go to other channels"
    case .invalidSocketID(let id): "'\(id)' is not a socket id (two numbers separated by a dot)"
    }
  }
}

package enum EventName {
  package static func problem(in name: String) -> String? {
    if name.isEmpty { return "an event name cannot be empty" }
    let length = name.utf8.count
    guard length <= TriggerRequest.maximumNameLength else {
      return "an event name has at most \(TriggerRequest.maximumNameLength) bytes; "
        + "this one has \(length)"
    }
    return nil
  }
}

/// Several events in one call, each for one channel: `POST /apps/ID/batch_events`.
package struct BatchRequest: Sendable, Equatable {
  /// Pusher's maximum number of events in one call; other servers may accept more.
  package static let documentedCount = 10

  package typealias Event = PusherAPI.Event

  package var events: [Event]

  package init(events: [Event]) { self.events = events }

  /// Returns the call for an app; the server checks the number of events and the data's length.
  package func request(appID: String) throws(TriggerError) -> APIRequest {
    for event in events { try event.check() }
    return .post(appID, "batch_events", ["batch": .array(events.map(\.json))])
  }
}

extension PusherAPI.Event {
  package init(name: String, channel: String, data: String, socketID: String? = nil) {
    self.init(name, channel: channel, data: data, socketID: socketID)
  }

  var alone: TriggerRequest {
    TriggerRequest(name: name, channels: [channel], data: data, socketID: socketID)
  }

  fileprivate var json: JSONValue {
    .object(texts: ["name": name, "channel": channel, "data": data, "socket_id": socketID])
  }

  package func check() throws(TriggerError) { try alone.check() }
}

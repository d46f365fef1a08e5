/// A call of the HTTP API before it is signed.
package struct APIRequest: Sendable, Equatable {
  package var method: String
  /// Path without a query and without the server's prefix, such as `/apps/3/events`.
  package var path: String
  package var parameters: [Parameter]
  package var body: [UInt8]?

  package struct Parameter: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  package init(method: String, path: String, parameters: [Parameter] = [], body: [UInt8]? = nil) {
    (self.method, self.path, self.parameters, self.body) = (method, path, parameters, body)
  }

  /// Adds the parameters that authenticate the call.
  ///
  /// Servers reject a `timestamp` (seconds since 1970) that differs by more than 600 s.
  ///
  /// - Parameters:
  ///   - prefix: The server's own prefix of ``path``, which is signed.
  ///   - stripped: A prefix that a proxy removes; it is requested, but not signed.
  package func signed(
    key: String, secret: String, timestamp: Int64, prefix: String = "", stripped: String = ""
  ) -> SignedAPIRequest {
    var pairs = parameters.map { (name: $0.name, value: $0.value) }
    pairs.append(("auth_key", key))
    pairs.append(("auth_timestamp", String(timestamp)))
    pairs.append(("auth_version", APIRequestSignature.version))
    if let body { pairs.append(("body_md5", APIRequestSignature.bodyDigest(body))) }
    let text = APIRequestSignature.stringToSign(
      method: method, path: prefix + path, parameters: pairs)
    pairs.append(("auth_signature", APIRequestSignature.sign(text, secret: secret)))
    pairs.sort { $0.name < $1.name }
    let query = PercentEncoding.form(pairs.map { ($0.name, $0.value) })
    return SignedAPIRequest(
      method: method, path: stripped + prefix + path, query: query, body: body, stringToSign: text)
  }
}

/// A signed call of the HTTP API.
package struct SignedAPIRequest: Sendable, Equatable {
  package let method: String
  /// The requested path, with all prefixes.
  package let path: String
  /// Parameters with the signature, escaped.
  package let query: String
  package let body: [UInt8]?
  /// The signed text, which helps to explain a rejected signature; it contains no secret.
  package let stringToSign: String

  package var target: String { "\(path)?\(query)" }

  /// Header fields of the call; the sender adds Host and Content-Length.
  package var headers: HTTPHeaders {
    var headers = HTTPHeaders([("Accept", "application/json")])
    if body != nil { headers.append("Content-Type", "application/json") }
    return headers
  }
}

/// Signs and checks calls of the HTTP API.
///
/// The signed text has three lines: `METHOD`, path and parameters. The parameters are sorted by
/// their lower-cased names, written as `name=value` without escaping; `auth_signature` is left out.
/// Source: Pusher's page "HTTP API", section "Authentication".
package enum APIRequestSignature {
  /// Maximum difference between `auth_timestamp` and the server's clock, in seconds.
  package static let timestampTolerance: Int64 = 600
  package static let version = "1.0"

  package static func stringToSign(
    method: String, path: String, parameters: [(name: String, value: String)]
  ) -> String {
    let pairs = parameters.compactMap { pair -> (name: String, value: String)? in
      let name = pair.name.lowercased()
      return name == "auth_signature" ? nil : (name, pair.value)
    }.sorted { $0.name < $1.name }
    // Built by hand, since a server does this for every call.
    let text = ByteBuffer(capacity: 256)
    text.append(method)
    text.append(UInt8(ascii: "\n"))
    text.append(path)
    text.append(UInt8(ascii: "\n"))
    for (index, pair) in pairs.enumerated() {
      if index > 0 { text.append(UInt8(ascii: "&")) }
      text.append(pair.name)
      text.append(UInt8(ascii: "="))
      text.append(pair.value)
    }
    return text.view.text
  }

  /// Returns the signature in lower-case hexadecimal.
  package static func sign(_ text: String, secret: String) -> String {
    Hex.encode(Digest.hmacSHA256(Array(text.utf8), key: Array(secret.utf8)))
  }

  /// Checks a signature in constant time.
  package static func isValid(_ signature: String, of text: String, secret: String) -> Bool {
    Digest.equalInConstantTime(Array(signature.utf8), Array(sign(text, secret: secret).utf8))
  }

  package static func bodyDigest(_ body: [UInt8]) -> String { Hex.encode(Digest.md5(body)) }
}

/// Calls that read channels and users (Pusher's page "HTTP API reference").
extension APIRequest {
  /// `GET /apps/ID/channels`: occupied channels, optionally only names that begin with `filter`.
  ///
  /// `info` is `user_count` (only if `filter` begins with `presence-`) and `subscription_count`.
  package static func channels(
    appID: String, filter: String? = nil, info: [String] = []
  ) -> APIRequest {
    var parameters: [Parameter] = []
    if let filter { parameters.append(Parameter("filter_by_prefix", filter)) }
    return get(appID, "channels", parameters + self.info(info))
  }

  /// `GET /apps/ID/channels/NAME`: whether the channel is occupied, and the attributes in `info`.
  package static func channel(
    _ name: String, appID: String, info: [String] = []
  ) -> APIRequest {
    get(appID, "channels/\(PercentEncoding.encode(name))", self.info(info))
  }

  /// `GET /apps/ID/channels/NAME/users`: members of a presence channel.
  package static func users(of channel: String, appID: String) -> APIRequest {
    get(appID, "channels/\(PercentEncoding.encode(channel))/users", [])
  }

  /// `POST /apps/ID/users/UID/terminate_connections`: ends all connections of a signed-in user.
  package static func terminate(user: String, appID: String) -> APIRequest {
    post(appID, "users/\(PercentEncoding.encode(user))/terminate_connections", [:])
  }

  static func post(
    _ appID: String, _ path: String, _ body: JSONValue
  ) -> APIRequest {
    APIRequest(
      method: "POST", path: "/apps/\(PercentEncoding.encode(appID))/\(path)",
      body: Array(body.jsonText.utf8))
  }

  private static func get(
    _ appID: String, _ path: String, _ parameters: [Parameter]
  ) -> APIRequest {
    APIRequest(
      method: "GET", path: "/apps/\(PercentEncoding.encode(appID))/\(path)",
      parameters: parameters)
  }

  private static func info(_ names: [String]) -> [Parameter] {
    names.isEmpty ? [] : [Parameter("info", names.joined(separator: ","))]
  }
}

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

  /// Returns what is wrong with an event's name; `nil` if it is valid.
  package static func problem(inName name: String) -> String? {
    if name.isEmpty { return "an event name cannot be empty" }
    let length = name.utf8.count
    guard length <= maximumNameLength else {
      return "an event name has at most \(maximumNameLength) bytes; this one has \(length)"
    }
    return nil
  }

  func check() throws(TriggerError) {
    if let problem = Self.problem(inName: name) { throw .invalidName(problem) }
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

extension APIRequest {
  /// Pusher's maximum number of events in one call; other servers may accept more.
  package static let documentedBatch = 10

  /// `POST /apps/ID/batch_events`: several events in one call, each for one channel.
  ///
  /// The server checks the number of events and the data's length.
  package static func batch(
    _ events: [PusherAPI.Event], appID: String
  ) throws(TriggerError) -> APIRequest {
    for event in events { try event.check() }
    return .post(appID, "batch_events", ["batch": .array(events.map(\.json))])
  }

  /// The call that sends these events: a single one without a batch.
  package static func sending(
    _ events: [PusherAPI.Event], appID: String
  ) throws(TriggerError) -> APIRequest {
    events.count == 1
      ? try events[0].alone.request(appID: appID) : try batch(events, appID: appID)
  }
}

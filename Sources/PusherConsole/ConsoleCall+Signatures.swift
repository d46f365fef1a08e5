internal import PusherCore
internal import PusherServer

extension ConsoleCall {
  /// Returns the answer of an authorisation endpoint, with the signed text.
  func signed() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let app = try hub(order["app"]?.text).application
    let socketID = try socketID(in: order)
    if let userData = order["user_data"]?.text {
      return .json([
        "string_to_sign": .string(
          SubscriptionSignature.stringToSign(socketID: socketID, userData: userData)),
        "auth": .string(app.signature.signIn(socketID: socketID, userData: userData)),
        "user_data": .string(userData),
      ])
    }
    let channel = try text("channel", in: order)
    let data = order["channel_data"]?.text.flatMap { $0.isEmpty ? nil : $0 }
    let auth = app.signature.authorize(socketID: socketID, channel: channel, channelData: data)
    let isEncrypted = host.applications.dialect.naming.kind(of: channel) == .encrypted
    return .json(
      .object(texts: [
        "string_to_sign": SubscriptionSignature.stringToSign(
          socketID: socketID, channel: channel, channelData: data), "auth": auth.auth,
        "channel_data": data,
        "shared_secret": isEncrypted ? app.masterKey?.sharedSecret(channel: channel) : nil,
      ]))
  }

  private func socketID(in order: JSONValue) throws(HTTPAnswer) -> String {
    let id = try text("socket_id", in: order)
    guard SocketID.isValid(id) else {
      throw .failure(400, "socket_id must be two numbers joined by a dot, not '\(id)'")
    }
    return id
  }

  // MARK: Checks

  /// Explains why an app's authorisation is invalid, or confirms it.
  func checked() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let claim = AuthorizationClaim(
      key: try text("key", in: order).trimmed, socketID: try text("socket_id", in: order).trimmed,
      channel: try text("channel", in: order).trimmed, auth: try text("auth", in: order).trimmed,
      channelData: order["channel_data"]?.text.flatMap { $0.isEmpty ? nil : $0 })
    let findings = claim.findings(
      apps: host.applications.hubs.map(\.application),
      kind: host.applications.dialect.naming.kind(of: claim.channel))
    return .json([
      "valid": .bool(findings.isEmpty), "findings": .array(findings.map(JSONValue.string)),
      "string_to_sign": .string(claim.stringToSign),
    ])
  }
}

extension String {
  /// Pasted text often has blanks and line ends around it.
  fileprivate var trimmed: String { ASCII.trimmed(self[...]) { $0 <= 0x20 } }
}

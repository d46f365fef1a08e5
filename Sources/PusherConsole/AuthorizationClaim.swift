internal import PusherCore
internal import PusherServer

/// An authorisation that an app's endpoint gave to a socket, to be checked for its developer.
struct AuthorizationClaim {
  let key: String
  let socketID: String
  let channel: String
  /// `KEY:HEX`, or only the signature.
  let auth: String
  let channelData: String?

  /// Returns the problems, one sentence each; empty if a server would accept the authorisation.
  func findings(apps: [Application], kind: ChannelKind) -> [String] {
    var findings = problems(kind)
    guard let app = apps.first(where: { $0.key.isSame(as: key) }) else {
      return findings + ["no app of this server has the key '\(key)'"]
    }
    if let named, !named.isSame(as: key) {
      findings.append("auth begins with the key '\(named)', but the app's key is '\(key)'")
    }
    guard isHexadecimal else {
      return findings + ["the signature is not 64 hexadecimal digits (HMAC SHA-256)"]
    }
    guard !isSignature(app, socketID, channel, channelData) else {
      if hex != hex.lowercased() { findings.append("the signature must be in lower case") }
      return findings
    }
    return findings + [reason(app, others: apps)]
  }

  private func problems(_ kind: ChannelKind) -> [String] {
    var problems: [String] = []
    if !SocketID.isValid(socketID) {
      problems.append("the socket id must be two numbers joined by a dot, not '\(socketID)'")
    }
    if let problem = ChannelName.problem(in: channel) {
      problems.append("the channel name is invalid: \(problem)")
    }
    switch kind {
    case .presence: problems += presenceProblems
    default:
      if channelData != nil, kind.needsAuthorization {
        problems.append("channel_data is only for presence channels; do not sign it for others")
      }
    }
    if !kind.needsAuthorization {
      problems.append("'\(channel)' is a public channel, which needs no authorisation")
    }
    return problems
  }

  private var presenceProblems: [String] {
    guard let channelData else { return ["a presence channel needs channel_data with a user_id"] }
    guard let data = try? JSONParser.parse(channelData), case .object = data else {
      return ["channel_data is not a JSON object"]
    }
    guard let id = data["user_id"]?.identifier, !id.isEmpty else {
      return ["channel_data has no user_id"]
    }
    return []
  }

  // MARK: The signature

  var stringToSign: String {
    SubscriptionSignature.stringToSign(
      socketID: socketID, channel: channel, channelData: channelData)
  }

  private var named: String? {
    auth.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(auth[..<$0]) }
  }

  private var hex: String {
    auth.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(auth[$0...].dropFirst()) } ?? auth
  }

  private var isHexadecimal: Bool {
    hex.utf8.count == 64 && hex.utf8.allSatisfy { Hex.value(of: $0) != nil }
  }

  private func isSignature(
    _ app: Application, _ socketID: String, _ channel: String, _ data: String?
  ) -> Bool {
    isAuth(
      app.signature.authorize(socketID: socketID, channel: channel, channelData: data).auth, of: app
    )
  }

  private func isAuth(_ right: String, of app: Application) -> Bool {
    let right = right.dropping(prefix: app.key + ":") ?? ""
    return Digest.equalInConstantTime(Array(hex.lowercased().utf8), Array(right.utf8))
  }

  /// Tries common mistakes to explain why the signature differs.
  private func reason(_ app: Application, others: [Application]) -> String {
    if channelData != nil, isSignature(app, socketID, channel, nil) {
      return "the signature leaves out channel_data; sign 'SOCKET_ID:CHANNEL:CHANNEL_DATA'"
    }
    if let data = channelData, let value = try? JSONParser.parse(data),
      isSignature(app, socketID, channel, JSONWriter.text(value))
    {
      return "channel_data was changed after it was signed: sign exactly the text that is sent"
    }
    for former in others
    where !former.key.isSame(as: app.key) && isSignature(former, socketID, channel, channelData) {
      return "the signature was made with the secret of app '\(former.id)'"
    }
    for other in otherSpellings where isSignature(app, socketID, other, channelData) {
      return "the signature is for channel '\(other)'"
    }
    let signIn = app.signature.signIn(socketID: socketID, userData: channelData ?? "")
    if isAuth(signIn, of: app) {
      return "the signature is for a user's sign-in, not for a subscription"
    }
    return "the signature does not match: the socket id, the channel, channel_data or the "
      + "app's secret was different where it was signed"
  }

  /// Other channel names that are easily signed by mistake.
  private var otherSpellings: [String] {
    var names = ["private-", "presence-", "private-encrypted-"].map { $0 + channel }
    for prefix in ["private-encrypted-", "private-", "presence-"] {
      guard let plain = channel.dropping(prefix: prefix) else { continue }
      names += [plain, "private-" + plain, "presence-" + plain, "private-encrypted-" + plain]
    }
    names.append(channel.lowercased())
    return names.filter { !$0.isSame(as: channel) }
  }
}

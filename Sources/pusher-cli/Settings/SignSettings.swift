internal import PusherCore

/// The settings of `auth`, `sign` and `verify`.
struct SignSettings: CommandSettings {
  enum Subject: Equatable, Sendable {
    case channel(String, socketID: String, channelData: String?)
    case user(socketID: String, userData: String)
    /// A call of the HTTP API; the target may have a query.
    case request(method: String, target: String, body: String?)
    case webhook(body: String)
  }

  var key: String
  var secret: Secret
  var subject: Subject
  /// `auth`, `sign` or `verify`.
  let command: Command
  /// The signature to verify; `nil` for a request, which carries its own.
  var signature: String?
  /// Derives the key of an encrypted channel.
  var encryptionKey: EncryptionMasterKey?
  /// Seconds since 1970, for a request; `nil` for now.
  var timestamp: Int64?
  var common: CommonSettings
  static let kinds = ["channel", "user", "request", "webhook"]
  static let bodyLimit = 16 << 20

  init(_ resolved: inout Resolved) throws(UsageError) {
    command = resolved.command
    var words = resolved.operands[...]
    if command == .auth {
      subject = try Self.claim(words.popFirst(), &resolved)
    } else {
      guard let kind = words.popFirst() else {
        throw UsageError(
          "nothing to \(resolved.command.rawValue): give one of \(Self.kinds.joined(separator: ", "))",
          helpFor: resolved.command)
      }
      guard Self.kinds.contains(kind) else {
        let clause = Suggestion.clause(for: kind, in: Self.kinds)
        throw UsageError(
          "cannot \(resolved.command.rawValue) a '\(kind)'\(clause)", helpFor: resolved.command)
      }
      try Self.refuseUnused(resolved, kind)
      subject = try Self.subject(kind, &words, &resolved)
      if command == .verify { signature = try Self.signature(kind, resolved) }
    }
    if let extra = words.first {
      throw UsageError("one argument too many: '\(extra)'", helpFor: resolved.command)
    }
    timestamp = resolved[.timestamp].integer.map(Int64.init)
    if case .channel(let name, _, _) = subject, command == .auth,
      ChannelKind(channelName: name) == .encrypted
    {
      encryptionKey = try resolved.encryptionKey(for: [name])
    }
    (key, secret) = try resolved.signer(resolved.app(.api))
    common = CommonSettings(resolved)
  }

  /// Refuses options that the kind has no use for.
  private static func refuseUnused(
    _ resolved: Resolved, _ kind: String
  ) throws(UsageError) {
    let name = resolved.command.rawValue
    let isClaim = kind == "channel" || kind == "user"
    let (unused, owner): ([Flag], String) =
      isClaim
      ? ([.signData], "request and webhook")
      : ([.socketID, .signUserID, .signUserInfo], "channel and user")
    try resolved.arguments.refuse(unused, by: "\(name) \(kind)", of: "\(name) \(owner)")
    guard kind != "request" else { return }
    try resolved.arguments.refuse([.timestamp], by: "\(name) \(kind)", of: "\(name) request")
  }

  private static func subject(
    _ kind: String, _ words: inout ArraySlice<String>, _ resolved: inout Resolved
  ) throws(UsageError) -> Subject {
    switch kind {
    case "channel":
      guard let name = words.popFirst() else {
        throw UsageError("no channel: give one", helpFor: resolved.command)
      }
      return try claim(name, &resolved)
    case "user": return try claim(nil, &resolved)
    case "request":
      guard let method = words.popFirst(), let target = words.popFirst() else {
        throw UsageError(
          "a request needs a method and a path, such as GET /apps/1/channels",
          helpFor: resolved.command)
      }
      guard target.hasPrefix("/") else {
        throw UsageError("'\(target)' is not a path; a path begins with / and has no host")
      }
      return .request(method: method.uppercased(), target: target, body: try body(&resolved))
    default:
      guard let body = try body(&resolved) else {
        throw UsageError("no body: give it unchanged with --data @FILE or --data @-")
      }
      return .webhook(body: body)
    }
  }

  private static func claim(
    _ channel: String?, _ resolved: inout Resolved
  ) throws(UsageError) -> Subject {
    guard let socketID = try resolved.socketID() else {
      throw UsageError("no socket: give --socket-id")
    }
    let info = try resolved.userInfo()
    guard let channel else {
      guard let id = resolved[.userID].text else {
        throw UsageError("no channel and no user: give a channel, or --user-id to sign in")
      }
      return .user(
        socketID: socketID, userData: member(id, info, idName: "id"))
    }
    let name = try resolved.channels([channel])[0]
    let kind = ChannelKind(channelName: name)
    guard kind.needsAuthorization else {
      throw UsageError("'\(name)' is a public channel, which needs no signature")
    }
    guard kind == .presence else {
      guard resolved[.userID].text == nil else {
        throw UsageError("--user-id is for presence channels and for signing in")
      }
      return .channel(name, socketID: socketID, channelData: nil)
    }
    guard let id = resolved[.userID].text else {
      throw UsageError("a presence channel needs --user-id")
    }
    return .channel(
      name, socketID: socketID,
      channelData: member(id, info, idName: "user_id"))
  }

  private static func member(
    _ id: String, _ info: String?, idName: String
  ) -> String {
    let start = "{\"\(idName)\":\(JSONWriter.text(.string(id)))"
    return start + (info.map { ",\"user_info\":\($0)}" } ?? "}")
  }

  private static func body(_ resolved: inout Resolved) throws(UsageError) -> String? {
    guard let data = resolved[.data].text else { return nil }
    return try resolved.textOrFile(data, "--data", limit: bodyLimit, dropsNewline: false)
  }

  private static func signature(
    _ kind: String, _ resolved: Resolved
  ) throws(UsageError) -> String? {
    let given = resolved[.signature].text
    if kind == "request" {
      guard given == nil else {
        throw UsageError(
          "a request has its signature in the query (auth_signature); leave out --signature")
      }
      return nil
    }
    guard let given else { throw UsageError("no signature to compare with: give --signature") }
    return given
  }
}

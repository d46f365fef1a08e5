internal import PusherCore

enum ChannelAuthorization: Equatable, Sendable {
  case unavailable
  /// Signs with the secret: as the member on presence channels, with the key on encrypted ones.
  case secret(Secret, PresenceMember?, EncryptionMasterKey? = nil)
  case endpoint(AuthorizationEndpoint)
  case command(String)
}

typealias PresenceMember = SecretSigner.Member

struct AuthorizationEndpoint: Equatable, Sendable {
  /// http or https URL.
  var url: String
  var headers: [NamedValue]
  var parameters: [NamedValue]
}

/// A header or form field; descriptions hide the value, which may be a token.
struct NamedValue: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
  var name: String
  var value: String
  var description: String { "\(name): <value>" }
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension SettingsReader {
  /// Returns the authorisation that options name, else the source's secret if a channel needs it.
  ///
  /// - Parameter mayGrow: Channels may be joined later; a known secret then signs for them.
  mutating func authorization(
    for channels: [String], mayGrow: Bool = false, _ source: CredentialSource
  ) throws(UsageError) -> ChannelAuthorization {
    if let url = typed.text(.authEndpoint) { return .endpoint(try endpoint(url)) }
    if let command = typed.text(.authCommand) { return .command(command) }
    let guarded = channels.first { ChannelKind(channelName: $0).needsAuthorization }
    guard guarded != nil || mayGrow || typed.text(.secretFile) != nil else { return .unavailable }
    guard let secret = try secret(source) else {
      if guarded == nil { return .unavailable }
      throw UsageError(
        "\(guarded ?? "the channel") needs authorisation: give --secret-file, PUSHER_APP_SECRET, "
          + "--auth-endpoint or --auth-command")
    }
    let member = try member()
    let encrypted = channels.first { ChannelKind(channelName: $0) == .encrypted }
    return .secret(secret, member, try encryptionKey(for: encrypted, orIfThere: mayGrow))
  }

  mutating func member() throws(UsageError) -> PresenceMember? {
    guard let userID = typed.text(.userID) else { return nil }
    return PresenceMember(userID: userID, userInfo: try userInfo())
  }

  mutating func userInfo() throws(UsageError) -> String? {
    guard let given = typed.text(.userInfo) else { return nil }
    let info = try textOrFile(given, "--user-info", limit: 65_536)
    _ = try UsageError.explaining("--user-info is not JSON: ", try JSONParser.parse(info))
    return info
  }

  mutating func endpoint(
    _ url: String, _ flag: Flag = .authEndpoint
  ) throws(UsageError) -> AuthorizationEndpoint {
    let rest = ["http://", "https://"].lazy.filter { url.lowercased().hasPrefix($0) }.first.map {
      url.dropFirst($0.count)
    }
    let isPlain = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard let rest, isPlain, let first = rest.first, !"/?#:".contains(first) else {
      throw UsageError("\(flag.spelling) is not an http or https URL")
    }
    guard !rest.prefix(while: { $0 != "/" }).contains("@") else {
      throw UsageError(
        "\(flag.spelling): a password in the URL would show in ps; use --auth-header @FILE")
    }
    let headers = try headers(.authHeader)
    var parameters: [NamedValue] = []
    for text in typed.texts(.authParam) {
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        throw UsageError("--auth-param needs the form NAME=VALUE")
      }
      let value = text[text.index(after: equals)...]
      parameters.append(NamedValue(name: String(text[..<equals]), value: String(value)))
    }
    return AuthorizationEndpoint(url: url, headers: headers, parameters: parameters)
  }
}

package import PusherCore
internal import Synchronization

/// An app on the server; clients use its key, the HTTP API its ID.
package struct Application: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  package var id: String
  package var key: String
  /// Signs subscriptions and API calls; never shown.
  package var secret: String
  package var allowsClientEvents: Bool
  package var sendsSubscriptionCounts = false
  /// Receivers of webhooks; `http` or `https`.
  package var webhooks: [HTTPURL] = []
  package var masterKey: EncryptionMasterKey?
  package var limits = AppLimits()
  /// A disabled app refuses sockets with 4003 and API calls with 403.
  package var isEnabled: Bool

  package init(
    id: String, key: String, secret: String, allowsClientEvents: Bool = true, isEnabled: Bool = true
  ) {
    self.id = id
    self.key = key
    self.secret = secret
    self.allowsClientEvents = allowsClientEvents
    self.isEnabled = isEnabled
  }

  package var description: String { "app \(id), key \(key)" }

  /// Empty, so that `dump` of a value that holds an app shows no secret either.
  package var customMirror: Mirror { Mirror(self, children: []) }
  package var signature: SubscriptionSignature { SubscriptionSignature(key: key, secret: secret) }
}

/// Protocol codes for closed connections and refusals.
///
/// Source: the protocol page, section "Error codes".
package enum PusherCode: Int, Sendable {
  case unknownApplication = 4001
  case applicationDisabled = 4003
  case overQuota = 4004
  case pathNotFound = 4005
  case invalidVersion = 4006
  case unsupportedProtocol = 4007
  /// A refused sign-in, or a user whose connections the app closes.
  case unauthorized = 4009
  /// Also for a client that does not read.
  case overCapacity = 4100
  /// The client should reconnect at once.
  case generic = 4200
  case pongNotReceived = 4201
  /// A client event that is not relayed, or, from Reverb, any message above the rate limit. In
  /// protocol V2 also a request to resume without recovery.
  case clientEventRate = 4301
  /// A request to resume without positions, in protocol V2.
  case noPositions = 4302

  var closeCode: CloseCode { CloseCode(rawValue: UInt16(clamping: rawValue)) }
}

/// A refused socket, subscription or sign-in.
package struct ProtocolRefusal: Error, Equatable {
  /// The wrong part, for servers that report it.
  package enum Cause {
    case unauthorized
    case longName
    case name
    case fullChannel
    case longMember
    case malformedMember
    case other
  }

  package let reason: String
  /// `nil` if Pusher gives no number.
  package var code: PusherCode?
  var cause = Cause.other
}

extension Application {
  func verify(
    _ auth: String, socketID: String, channel: String, channelData: String?
  ) throws(ProtocolRefusal) {
    let expected = signature.authorize(
      socketID: socketID, channel: channel, channelData: channelData)
    let signed = SubscriptionSignature.stringToSign(
      socketID: socketID, channel: channel, channelData: channelData)
    if let problem = problem(auth, of: "subscription", expected: expected.auth, of: signed) {
      throw ProtocolRefusal(reason: problem, cause: .unauthorized)
    }
  }

  /// Returns `nil` for a valid authorisation.
  private func problem(
    _ auth: String, of what: String, hint: String = "", expected: String, of signed: String
  ) -> String? {
    let named = auth.prefix { $0 != ":" }
    // The text before the colon, or the whole text without a colon.
    guard named.endIndex < auth.endIndex, String(named).isSame(as: key) else {
      return "Invalid key in \(what) auth data: '\(named)'\(hint)"
    }
    guard !Digest.equalInConstantTime(Array(auth.utf8), Array(expected.utf8)) else { return nil }
    let given = auth[named.endIndex...].dropFirst()
    return "Invalid signature: Expected HMAC SHA256 hex digest of \(signed), but got \(given)"
  }

  func user(
    _ auth: String, socketID: String, userData: String, limits: ServerLimits, form: MemberForm
  ) throws(ProtocolRefusal) -> SignedInUser {
    func refusal(_ reason: String) -> ProtocolRefusal {
      ProtocolRefusal(reason: reason, code: .unauthorized)
    }
    if let problem = problem(
      auth, of: "user", hint: ", expected KEY:SIGNATURE",
      expected: signature.signIn(socketID: socketID, userData: userData),
      of: SubscriptionSignature.stringToSign(socketID: socketID, userData: userData))
    {
      throw refusal(problem)
    }
    guard userData.utf8.count <= limits.sizes.userData else {
      throw refusal(
        "user_data has at most \(limits.sizes.userData) bytes; this one has \(userData.utf8.count)")
    }
    guard let data = try? JSONParser.parse(userData), let given = data["id"],
      let id = given.identifier, !id.isEmpty
    else { throw refusal("user_data is not a JSON object with an id") }
    guard id.count <= limits.sizes.userID else {
      throw refusal(
        "a user's id has at most \(limits.sizes.userID) characters; this one has \(id.count)")
    }
    let watchlist = (data["watchlist"]?.elements ?? []).compactMap(\.identifier)
    guard watchlist.count <= limits.watchlist else {
      throw refusal(
        "a watchlist has at most \(limits.watchlist) users; this one has \(watchlist.count)")
    }
    guard form.accepts(data["user_info"]) else { throw refusal(MemberForm.refusal("user_data")) }
    let member = Member(
      userID: id, info: data["user_info"], id: form.keepsNumbers ? given : .string(id))
    return SignedInUser(member: member, watchlist: watchlist)
  }
}

struct MemberForm {
  let keepsNumbers: Bool
  let requiresInfoObject: Bool

  fileprivate func accepts(_ info: JSONValue?) -> Bool {
    guard requiresInfoObject, let info, info != .null else { return true }
    return info.members != nil
  }

  fileprivate static func refusal(_ field: String) -> String {
    "user_info in \(field) is not a JSON object"
  }
}

extension Member {
  /// Reads the member of a presence channel; the default is the signed-in user.
  init(
    _ channelData: String?, user: SignedInUser?, limits: ServerLimits, form: MemberForm
  ) throws(ProtocolRefusal) {
    guard let channelData else {
      guard let user else {
        throw ProtocolRefusal(
          reason: "presence channels need channel_data with a user_id, or a signed-in user")
      }
      self = user.member
      return
    }
    guard channelData.utf8.count <= limits.sizes.channelData else {
      throw ProtocolRefusal(
        reason: "channel_data has at most \(limits.sizes.channelData) bytes; "
          + "this one has \(channelData.utf8.count)", cause: .longMember)
    }
    guard let data = try? JSONParser.parse(channelData) else {
      throw ProtocolRefusal(
        reason: "channel_data is not a JSON object with a user_id", cause: .malformedMember)
    }
    guard let id = data["user_id"], let userID = id.identifier, !userID.isEmpty else {
      throw ProtocolRefusal(reason: "channel_data is not a JSON object with a user_id")
    }
    guard userID.count <= limits.sizes.userID else {
      throw ProtocolRefusal(
        reason: "a user_id has at most \(limits.sizes.userID) characters; "
          + "this one has \(userID.count)")
    }
    guard form.accepts(data["user_info"]) else {
      throw ProtocolRefusal(reason: MemberForm.refusal("channel_data"))
    }
    self.init(
      userID: userID, info: data["user_info"], id: form.keepsNumbers ? id : .string(userID))
  }
}

/// Settings of an app, equal on all its nodes.
package struct AppSetup: Sendable {
  package let application: Application
  /// The app's own limits where set, else the server's.
  package let limits: ServerLimits
  package let text: MessageText
  /// What the names of channels mean.
  let kind: @Sendable (_ channel: String) -> ChannelKind
  package let isCache: @Sendable (_ channel: String) -> Bool
  /// Observers of the app; `nil` if there can be none.
  var watch: Watch?

  /// Notices need a webhook or an observer; users' own channels have none.
  package func notes(_ notice: @autoclosure () -> WebhookNotice) -> Bool {
    guard !application.webhooks.isEmpty || watch?.isWatched == true else { return false }
    return !notice().channel.begins(with: "#")
  }

  package func tellsCount(of channel: String) -> Bool {
    application.sendsSubscriptionCounts && kind(channel) != .presence
      && !channel.begins(with: "#")
  }
}

/// A flag that is set while there are observers.
///
/// Observers get notices that otherwise only webhooks get. Any thread may use it.
package final class Watch: Sendable {
  private let flag = Atomic(false)

  var isWatched: Bool {
    get { flag.load(ordering: .relaxed) }
    set { flag.store(newValue, ordering: .relaxed) }
  }
}

/// Reads what an authorisation endpoint or command answers: `{"auth":"KEY:HEX","channel_data"?:String,…}`.
///
/// The object may be the `data` of another, as frameworks wrap every answer: `{"data":{"auth":…}}`.
///
/// Source: Pusher's page "Authorizing users", and the shapes of real servers.
package enum AuthorizationAnswer {
  /// The token in `body`.
  ///
  /// - Throws: ``AuthorizationFailure/unusable(_:)`` that says what is missing or of the wrong kind; in particular a
  ///   `channel_data` that is an object, which cannot be repaired because the signature covers its exact bytes.
  package static func parse(_ body: ByteView) throws(AuthorizationFailure) -> PusherAuth {
    let (value, auth) = try object(body)
    let channelData = value["channel_data"] ?? .null
    guard channelData == .null || channelData.text != nil else {
      throw .unusable("\"channel_data\" must be the JSON text that was signed, not an object")
    }
    return PusherAuth(
      auth: auth, channelData: channelData.text, sharedSecret: value["shared_secret"]?.text)
  }

  /// The user in `body`: `{"auth":"KEY:HEX","user_data":String}`.
  ///
  /// - Throws: ``AuthorizationFailure/unusable(_:)`` that says what is missing or of the wrong kind.
  package static func parseUser(_ body: ByteView) throws(AuthorizationFailure) -> PusherUserAuth {
    let (value, auth) = try object(body)
    guard let userData = value["user_data"]?.text else {
      throw .unusable("the answer has no \"user_data\" with the JSON text that was signed")
    }
    return PusherUserAuth(auth: auth, userData: userData)
  }

  /// The object in `body` that has the answer, and its `auth`.
  private static func object(
    _ body: ByteView
  ) throws(AuthorizationFailure) -> (JSONValue, auth: String) {
    let value: JSONValue
    do {
      value = try JSONParser.parse(body)
    } catch {
      throw .unusable(body.isEmpty ? "the answer is empty" : "the answer is \(error)")
    }
    guard case .object = value else { throw .unusable("the answer is not a JSON object") }
    if value["auth"] == nil, let wrapped = value["data"], wrapped["auth"] != nil {
      return (wrapped, try auth(of: wrapped))
    }
    return (value, try auth(of: value))
  }

  private static func auth(of value: JSONValue) throws(AuthorizationFailure) -> String {
    guard let auth = value["auth"]?.text else {
      throw .unusable("the answer has no \"auth\" string")
    }
    guard auth.contains(":") else {
      throw .unusable("\"auth\" is not of the form KEY:SIGNATURE")
    }
    return auth
  }
}

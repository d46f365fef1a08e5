/// Reads what an authorisation endpoint or command answers: `{"auth":"KEY:HEX","channel_data"?:String,…}`.
///
/// Source: Pusher's page "Authorizing users", and the crib's shapes of real servers.
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

  /// The object in `body`, and its `auth`.
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
    guard let auth = value["auth"]?.text else {
      throw .unusable("the answer has no \"auth\" string")
    }
    guard auth.contains(":") else {
      throw .unusable("\"auth\" is not of the form KEY:SIGNATURE")
    }
    return (value, auth)
  }
}

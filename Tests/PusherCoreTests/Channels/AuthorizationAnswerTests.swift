import PusherCore
import TestSupport
import Testing

/// The page "Authorizing users", section "Response".
struct AuthorizationAnswerTests {
  private func parse(_ text: String) throws -> Authorization {
    try Authorization(Array(text.utf8), forChannel: true)
  }

  @Test(arguments: [
    (#"{"auth":"K:S"}"#, PusherAuth(auth: "K:S")),
    (#" {"x":[],"auth":"K:S","channel_data":null,"shared_secret":null} "#, PusherAuth(auth: "K:S")),
    (
      #"{"auth":"K:S","channel_data":"{\"user_id\": 7}","shared_secret":"AA=="}"#,
      PusherAuth(auth: "K:S", channelData: #"{"user_id": 7}"#, sharedSecret: "AA==")
    ),
    (#"{"data":{"auth":"K:S"}}"#, PusherAuth(auth: "K:S")),
    (
      #"{"data":{"auth":"K:S","channel_data":"{}"},"channel_data":"[]"}"#,
      PusherAuth(auth: "K:S", channelData: "{}")
    ),
    (#"{"auth":"K:S","data":{"auth":"K:T"}}"#, PusherAuth(auth: "K:S")),
    (#"{"auth":null,"data":{"auth":"K:S"}}"#, PusherAuth(auth: "K:S")),
  ])
  func `the parts are taken as they were signed`(text: String, auth: PusherAuth) throws {
    #expect(try parse(text) == Authorization(auth))
  }

  @Test(arguments: [
    ("the answer is empty", [""]), ("the answer is not JSON at byte 0", ["no"]),
    ("the answer is incomplete JSON", [#"{"auth":"K:S""#]),
    ("the answer is not a JSON object", ["[]", #""K:S""#]),
    (
      "the answer has no \"auth\" string",
      ["{}", #"{"auth":null}"#, #"{"data":{"data":{"auth":"K:S"}}}"#, #"{"data":[]}"#]
    ),
    ("\"auth\" is not of the form KEY:SIGNATURE", [#"{"auth":"S"}"#, #"{"data":{"auth":"S"}}"#]),
    (
      "\"channel_data\" must be the JSON text that was signed, not an object",
      [#"{"auth":"K:S","channel_data":{"user_id":7}}"#]
    ),
  ])
  func `an unusable answer says what is wrong, without secrets`(reason: String, texts: [String]) {
    for text in texts {
      #expect(throws: AuthorizationFailure.unusable(reason), "\(text)") { try parse(text) }
    }
  }

  @Test(arguments: [
    #"{"data":{"auth":"K:S","user_data":"{\"id\":\"7\"}"}}"#,
    #"{"auth":"K:S","user_data":"{\"id\":\"7\"}"}"#,
  ])
  func `a user's answer may stand inside data as well`(text: String) throws {
    let answer = try Authorization(Array(text.utf8), forChannel: false)
    #expect(answer == Authorization(PusherUserAuth(auth: "K:S", userData: #"{"id":"7"}"#)))
  }

  @Test(arguments: [
    ("", "the answer is empty"), ("[]", "the answer is not a JSON object"),
    (#"{"user_data":"{}"}"#, #"the answer has no "auth" string"#),
    (#"{"auth":"k:s"}"#, #"the answer has no "user_data" with the JSON text that was signed"#),
    (
      #"{"auth":"k:s","user_data":{}}"#,
      #"the answer has no "user_data" with the JSON text that was signed"#
    ),
  ])
  func `an endpoint's answer about a user is read strictly`(text: String, reason: String) {
    #expect(throws: AuthorizationFailure.unusable(reason)) {
      try Authorization(Array(text.utf8), forChannel: false)
    }
  }
}

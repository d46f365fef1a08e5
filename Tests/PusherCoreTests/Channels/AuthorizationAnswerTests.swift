import PusherCore
import TestSupport
import Testing

/// The page "Authorizing users", section "Response".
@Suite struct AuthorizationAnswerTests {
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
    ("", "the answer is empty"), ("no", "the answer is not JSON at byte 0"),
    (#"{"auth":"K:S""#, "the answer is incomplete JSON"),
    ("[]", "the answer is not a JSON object"),
    (#""K:S""#, "the answer is not a JSON object"), ("{}", "the answer has no \"auth\" string"),
    (#"{"auth":null}"#, "the answer has no \"auth\" string"),
    (#"{"auth":"S"}"#, "\"auth\" is not of the form KEY:SIGNATURE"),
    (#"{"data":{"auth":"S"}}"#, "\"auth\" is not of the form KEY:SIGNATURE"),
    (#"{"data":{"data":{"auth":"K:S"}}}"#, "the answer has no \"auth\" string"),
    (#"{"data":[]}"#, "the answer has no \"auth\" string"),
    (
      #"{"auth":"K:S","channel_data":{"user_id":7}}"#,
      "\"channel_data\" must be the JSON text that was signed, not an object"
    ),
  ])
  func `an answer that cannot be used says what is wrong, without the secret parts`(
    text: String, reason: String
  ) {
    #expect(throws: AuthorizationFailure.unusable(reason)) { try parse(text) }
  }

  @Test func `a user's answer may stand inside data as well`() throws {
    let text = #"{"data":{"auth":"K:S","user_data":"{\"id\":\"7\"}"}}"#
    let answer = try Authorization(Array(text.utf8), forChannel: false)
    #expect(answer == Authorization(PusherUserAuth(auth: "K:S", userData: #"{"id":"7"}"#)))
  }
}

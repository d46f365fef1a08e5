import TestSupport
import Testing

@testable import PusherCore

/// Every message of the protocol in every shape that Pusher, Reverb, soketi and sockudo send.
struct ServerMessageTests {
  private func read(_ text: String) throws -> ServerMessage {
    try withView(Array(text.utf8)) { ServerMessage(try Envelope($0), service: .pusher) }
  }

  private func read(
    _ event: String, channel: String? = nil, data: String? = nil
  ) throws -> ServerMessage {
    let channel = channel.map { #","channel":"\#($0)""# } ?? ""
    let data = data.map { #","data":\#($0)"# } ?? ""
    return try read(#"{"event":"\#(event)"\#(channel)\#(data)}"#)
  }

  @Test(
    arguments: [
      (#""{\"socket_id\":\"1234.5678\",\"activity_timeout\":120}""#, "1234.5678", 120),
      (#"{"socket_id":"1234.5678","activity_timeout":30}"#, "1234.5678", 30),
      (#""{\"socket_id\":\"9999999999.9999999999\"}""#, "9999999999.9999999999", nil),
      (#"{"socket_id":"1.2","activity_timeout":"45"}"#, "1.2", 45),
      (#"{"socket_id":"1.2","activity_timeout":null}"#, "1.2", nil),
      (#"{"socket_id":"1.2","activity_timeout":0}"#, "1.2", nil),
      (#"{"socket_id":"1.2","activity_timeout":-5}"#, "1.2", nil),
      (#"{"socket_id":"1.2","activity_timeout":1}"#, "1.2", 1),
      (#"{"socket_id":"1.2","activity_timeout":86400}"#, "1.2", 86_400),
      (#"{"socket_id":"1.2","activity_timeout":86401}"#, "1.2", nil),
      (#"{"socket_id":"1.2","activity_timeout":1e9}"#, "1.2", nil),
      (#"{"socket_id":"1.2","activity_timeout":99999999999999999999}"#, "1.2", nil),
      (#"{"socket_id":12.5,"x":[]}"#, "12.5", nil),
    ] as [(String, String, Int?)])
  func `a greeting names the socket, and perhaps a timeout`(
    data: String, socketID: String, timeout: Int?
  ) throws {
    #expect(
      try read("pusher:connection_established", data: data)
        == .connectionEstablished(
          socketID: socketID, activityTimeout: timeout.map { .seconds($0) }))
  }

  @Test(
    arguments: [
      (#","data":{"code":4001,"message":"m"}"#, 4001, "m"),
      (#","data":"{\"code\":4001,\"message\":\"m\"}""#, 4001, "m"),
      (#","data":{"code":null,"message":"m"}"#, nil, "m"),
      (#","data":{"message":"m"}"#, nil, "m"),
      (#","data":{"code":"4201"}"#, 4201, ""), (#","data":{}"#, nil, ""),
      (#","data":{"code":4100,"message":null}"#, 4100, ""),
      (#","data":{"code":4100,"message":["a",1]}"#, 4100, #"["a",1]"#),
      (#","data":{"code":4100,"reason":"r"}"#, 4100, #"{"code":4100,"reason":"r"}"#),
      (#","data":"plain text""#, nil, "plain text"),
      (#","data":["x"]"#, nil, #"["x"]"#),
      (#","data":null"#, nil, ""), ("", nil, ""),
    ] as [(String, Int?, String)])
  func `an error has its text in every shape`(rest: String, code: Int?, message: String) throws {
    #expect(
      try read(#"{"event":"pusher:error"\#(rest)}"#)
        == .error(code: code, message: message, channel: nil))
  }

  @Test func `an error may name a channel`() throws {
    #expect(
      try read("pusher:error", channel: "private-c", data: #"{"code":4009,"message":"m"}"#)
        == .error(code: 4009, message: "m", channel: "private-c"))
  }

  @Test(arguments: ["", #","data":{}"#, #","data":"{}""#, #","data":null"#])
  func `a ping and a pong need no data`(rest: String) throws {
    #expect(try read(#"{"event":"pusher:ping"\#(rest)}"#) == .ping)
    #expect(try read(#"{"event":"pusher:pong"\#(rest)}"#) == .pong)
  }

  @Test(arguments: ["pusher", "pusher_internal"])
  func `a confirmation may carry a string, an object or nothing`(prefix: String) throws {
    for data in [#""{}""#, #"{}"#, nil, #""{\"presence\":{}}""#] {
      #expect(
        try read("\(prefix):subscription_succeeded", channel: "c", data: data)
          == .subscriptionSucceeded(channel: "c"))
    }
  }

  @Test(
    arguments: [
      (#"{"type":"AuthError","error":"no","status":401}"#, "AuthError", "no", 401),
      (#""{\"type\":\"T\",\"error\":\"no\",\"status\":403}""#, "T", "no", 403),
      (#""just text""#, "SubscriptionError", "just text", nil),
      ("{}", "SubscriptionError", "", nil), ("null", "SubscriptionError", "", nil),
    ] as [(String, String, String, Int?)])
  func `a refusal says of which channel and why`(
    data: String, type: String, message: String, status: Int?
  ) throws {
    #expect(
      try read("pusher:subscription_error", channel: "private-c", data: data)
        == .subscriptionError(channel: "private-c", type: type, message: message, status: status))
  }

  @Test(arguments: [
    (
      #""{\"user_id\":\"3\",\"user_info\":{\"n\":1}}""#,
      JSONValue.object([.init("n", .number("1"))])
    ),
    (#"{"user_id":"3","user_info":{"n":1}}"#, .object([.init("n", .number("1"))])),
    (#"{"user_id":3,"user_info":null}"#, .null), (#""{\"user_id\":3}""#, .null),
  ])
  func `a member has an id of either kind, and information`(data: String, info: JSONValue) throws {
    #expect(
      try read("pusher_internal:member_added", channel: "presence-c", data: data)
        == .memberAdded(
          channel: "presence-c", member: PusherPresenceChannelMember(userId: "3", userInfo: info)))
    #expect(
      try read("pusher_internal:member_removed", channel: "presence-c", data: data)
        == .memberRemoved(channel: "presence-c", userID: "3"))
  }

  @Test func `what a channel says about itself goes out under its public name`() throws {
    for prefix in ["pusher", "pusher_internal"] {
      let data = #""{\"subscription_count\":17}""#
      #expect(
        try read("\(prefix):subscription_count", channel: "c", data: data)
          == .channelNotice(name: "pusher:subscription_count"))
    }
    #expect(
      try read("pusher:cache_miss", channel: "cache-c")
        == .channelNotice(name: "pusher:cache_miss"))
  }

  private static let noMember = [
    "null", "{}", #""x""#, #"{"user_id":null}"#, #"{"user_id":{}}"#, "3",
  ]

  @Test(arguments: [
    (
      "pusher:connection_established",
      ["null", "{}", #""""#, #""x""#, #"{"socket_id":""}"#, #"{"socket_id":null}"#, "[]"],
      "connection_established without a socket_id"
    ),
    ("pusher_internal:member_added", noMember, "member_added without a user_id"),
    ("pusher_internal:member_removed", noMember, "member_removed without a user_id"),
  ])
  func `a greeting names its socket, and a member its user`(
    event: String, wrong: [String], problem: String
  ) throws {
    for data in wrong {
      #expect(try read(event, channel: "presence-c", data: data) == .malformed(problem), "\(data)")
    }
  }

  @Test(arguments: [
    "pusher_internal:subscription_succeeded", "pusher_internal:member_added",
    "pusher_internal:member_removed", "pusher_internal:subscription_count",
    "pusher:subscription_error",
  ])
  func `an event about a channel must name it`(event: String) throws {
    for channel in ["", #","channel":null"#, #","channel":3"#] {
      #expect(
        try read(#"{"event":"\#(event)"\#(channel),"data":"{}"}"#)
          == .malformed("\(event.split(separator: ":")[1]) without a channel"))
    }
  }

  @Test(arguments: [
    #"{"event":"my-event","channel":"c","data":"{}"}"#,
    #"{"event":"client-typing","channel":"presence-c","user_id":"7"}"#,
    #"{"event":"online","data":{"user_ids":["a"]}}"#, #"{"event":"pusher","data":1}"#,
    #"{"event":"pusherx:ping"}"#,
    #"{"event":"Pusher:ping"}"#, #"{"event":""}"#,
  ])
  func `what has no prefix of the service is the application's`(text: String) throws {
    #expect(try read(text) == .application)
  }

  @Test(arguments: [
    (
      #"{"event":"pusher:news","data":{"user_data":"{}"}}"#,
      ServerMessage.unknown(name: "pusher:news")
    ),
    (#"{"event":"pusher:"}"#, .unknown(name: "pusher:")),
    (
      #"{"event":"pusher_internal:news","channel":"c"}"#,
      .unknownInternal(name: "pusher_internal:news")
    ),
    (#"{"event":"pusher_internal:"}"#, .unknownInternal(name: "pusher_internal:")),
    (
      "{\"event\":\"pusher_internal:\u{301}x\"}",
      .unknownInternal(name: "pusher_internal:\u{301}x")
    ),
    (
      #"{"event":"pusher_internal:signin_success","data":{"user_data":"{}"}}"#,
      .unknownInternal(name: "pusher_internal:signin_success")
    ),
  ])
  func `what is not known keeps its name, and an internal name is told apart, by its bytes`(
    text: String, message: ServerMessage
  ) throws {
    #expect(try read(text) == message)
  }
}

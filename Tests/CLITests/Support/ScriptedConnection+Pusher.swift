import PusherCore
import Testing

extension ScriptedConnection {
  struct Subscription: Sendable {
    var channel: String
    var auth: String?
    var channelData: String?
  }

  /// The ID given by ``welcome(activityTimeout:)``.
  var socketID: String { "77.\(number)" }

  func welcome(activityTimeout: Int = 120, deflate: Bool = false) throws {
    try welcome(try request(), activityTimeout: activityTimeout, deflate: deflate)
  }

  /// Answers an upgrade whose request was read, and greets.
  func welcome(
    _ request: HTTPRequestHead, activityTimeout: Int = 120, deflate: Bool = false
  ) throws {
    try upgrade(request, deflate: deflate)
    let data: JSONValue = .object([
      .init("socket_id", .string(socketID)), .init("activity_timeout", .integer(activityTimeout)),
    ])
    try send(event: "pusher:connection_established", channel: nil, data: JSONWriter.text(data))
  }

  /// Greets and confirms `count` subscriptions, and returns them.
  @discardableResult
  func join(_ count: Int = 1, activityTimeout: Int = 120, deflate: Bool = false) throws
    -> [Subscription]
  {
    try welcome(activityTimeout: activityTimeout, deflate: deflate)
    return try (0..<count).map { _ in try acceptSubscription() }
  }

  /// Returns the next message as JSON, and answers pings before it.
  func message() throws -> JSONValue {
    while true {
      switch try event() {
      case .text(let text):
        let message = try JSONParser.parse(text)
        guard message["event"]?.text == "pusher:ping" else { return message }
        try send(text: #"{"event":"pusher:pong","data":{}}"#)
      case .closed: throw PeerLeft()
      case .pong: continue
      }
    }
  }

  /// Returns the next message, which must be `pusher:subscribe`.
  func subscription() throws -> Subscription {
    let message = try message()
    guard message["event"]?.text == "pusher:subscribe",
      let channel = message["data"]?["channel"]?.text
    else {
      throw Unexpected("\(JSONWriter.text(message)) instead of a subscription")
    }
    return Subscription(
      channel: channel, auth: message["data"]?["auth"]?.text,
      channelData: message["data"]?["channel_data"]?.text)
  }

  /// Confirms the next subscription; a presence channel gets the client as its member.
  @discardableResult func acceptSubscription() throws -> Subscription {
    let subscription = try subscription()
    var data = "{}"
    if subscription.channel.hasPrefix("presence-") {
      data = #"{"presence":{"count":1,"ids":["7"],"hash":{"7":null}}}"#
    }
    try send(
      event: "pusher_internal:subscription_succeeded", channel: subscription.channel, data: data)
    return subscription
  }

  /// Refuses the next subscription as Reverb does, and stays.
  func refuseSubscription() throws {
    _ = try subscription()
    try send(text: #"{"event":"pusher:error","data":{"code":4009,"message":"Invalid signature"}}"#)
    try stay()
  }

  /// Sends an event with this text as its data.
  func send(event: String, channel: String? = "news", data: String) throws {
    try send(text: Self.message(event, channel, data))
  }

  /// Returns an event in the servers' format: the data is a string of JSON.
  static func message(_ event: String, _ channel: String?, _ data: String) -> String {
    var members: [JSONValue.Member] = [.init("event", .string(event))]
    if let channel { members.append(.init("channel", .string(channel))) }
    members.append(.init("data", .string(data)))
    return JSONWriter.text(.object(members))
  }

  /// Answers pings until the client leaves or the test ends.
  func stay() throws -> Never {
    while true { _ = try message() }
  }

  func ignore() throws -> Never {
    while true { _ = try event() }
  }
}

extension ScriptedServer {
  /// Starts a server that greets each client and confirms nothing.
  static func greeting(place: SourceLocation = #_sourceLocation) throws -> ScriptedServer {
    try ScriptedServer(place: place) { connection in
      try connection.welcome()
      try connection.ignore()
    }
  }

  /// Starts a server that confirms `count` subscriptions, plays the script and stays.
  static func joined(
    _ count: Int = 1, place: SourceLocation = #_sourceLocation, _ script: @escaping Script
  ) throws -> ScriptedServer {
    try ScriptedServer(place: place) { connection in
      try connection.join(count)
      try script(connection)
      try connection.stay()
    }
  }

  /// Runs `subscribe` against this server.
  func subscribed(
    _ arguments: [String], environment: [String: String] = [:], input: ChildProgram.Input = .nothing
  ) throws -> ProgramResult {
    try PusherCLI.run(["subscribe"] + address + arguments, environment: environment, input: input)
  }

  func subscribed(
    _ arguments: String..., environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try subscribed(arguments, environment: environment)
  }
}

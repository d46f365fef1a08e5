import PusherCore

/// The script's view of the Pusher protocol, version 7.
extension ScriptedConnection {
  /// A subscription that the client asked for.
  struct Subscription: Sendable {
    var channel: String
    var auth: String?
    var channelData: String?
  }

  /// The id that ``welcome(activityTimeout:)`` gave.
  var socketID: String { "77.\(number)" }

  /// Answers the upgrade and greets.
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

  /// Greets and confirms so many subscriptions; answers what they were.
  @discardableResult
  func join(_ count: Int = 1, activityTimeout: Int = 120, deflate: Bool = false) throws
    -> [Subscription]
  {
    try welcome(activityTimeout: activityTimeout, deflate: deflate)
    return try (0..<count).map { _ in try acceptSubscription() }
  }

  /// The next message as JSON; the client's pings are answered.
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

  /// The next message, which must be `pusher:subscribe`.
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

  /// Confirms the next subscription, a presence channel with the member that asked.
  @discardableResult
  func acceptSubscription() throws -> Subscription {
    let subscription = try subscription()
    var data = "{}"
    if subscription.channel.hasPrefix("presence-") {
      data = #"{"presence":{"count":1,"ids":["7"],"hash":{"7":null}}}"#
    }
    try send(
      event: "pusher_internal:subscription_succeeded", channel: subscription.channel, data: data)
    return subscription
  }

  /// Sends an event whose data is this text.
  func send(event: String, channel: String? = "news", data: String) throws {
    try send(text: Self.message(event, channel, data))
  }

  /// An event as servers write it: the data a string that holds JSON.
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

  /// Takes everything and answers nothing.
  func ignore() throws -> Never {
    while true { _ = try event() }
  }
}

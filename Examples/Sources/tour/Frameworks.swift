import PusherCore

/// The part of swift-nio that Vapor's requests use.
struct ByteBuffer: Sendable { var bytes: [UInt8] }

extension [UInt8] {
  init(buffer: ByteBuffer) { self = buffer.bytes }
}

struct User: Sendable {
  var id: String
  var name: String
  var friends: [String] = []

  func mayRead(_ channel: String) -> Bool { channel != "private-vault" }
}

struct Forbidden: Error {}

/// A request to the routes of an application.
struct Incoming: Sendable {
  var form: [String: String] = [:]
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  var user = User(id: "7", name: "Ann", friends: ["8"])
}

/// What the clients send.
struct ChannelQuestion: Codable {
  var socket_id: String
  var channel_name: String
}

/// The answer for a user; it throws for a channel that is not the user's.
func answer(_ question: ChannelQuestion, for user: User, by api: PusherAPI) throws -> String {
  guard user.mayRead(question.channel_name) else { throw Forbidden() }
  let member = PusherPresenceChannelMember(
    userId: user.id, userInfo: ["name": .string(user.name)])
  return try api.authorizeChannel(
    question.channel_name, socketID: question.socket_id, member: member
  ).jsonText
}

func answer(userOf socketID: String, _ user: User, by api: PusherAPI) throws -> String {
  let data: JSONValue = [
    "id": .string(user.id), "watchlist": .array(user.friends.map { .string($0) }),
  ]
  return try api.authenticateUser(socketID: socketID, userData: data).jsonText
}

/// Opened and closed channels, by webhooks.
let doors = Heard<String>()

private func open(_ channel: String) { doors.add("open \(channel)") }
private func close(_ channel: String) { doors.add("close \(channel)") }

func take(_ body: [UInt8], key: String?, signature: String?, by api: PusherAPI) throws {
  let webhook = try api.webhook(body: body, key: key, signature: signature)
  for event in webhook.events {
    switch event.name {
    case "channel_occupied": open(event.channel ?? "")
    case "channel_vacated": close(event.channel ?? "")
    default: break
    }
  }
}

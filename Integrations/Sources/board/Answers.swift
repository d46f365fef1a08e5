import PusherCore

/// What the clients send.
struct ChannelQuestion: Codable {
  var socket_id: String
  var channel_name: String
}

struct Forbidden: Error {}

/// The answer for a user; it throws for a channel that is not the user's.
func answer(_ question: ChannelQuestion, for user: User, by api: PusherAPI) throws -> String {
  guard user.mayRead(question.channel_name) else { throw Forbidden() }
  let member = PusherPresenceChannelMember(
    userId: user.id, userInfo: ["name": .string(user.name)])
  return try api.authorizeChannel(
    question.channel_name, socketID: question.socket_id, member: member
  ).jsonText
}

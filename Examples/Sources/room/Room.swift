import PusherCore

/// Two members meet in a presence channel: one greets, the other answers, and both leave.
///
///     room HOST PORT KEY SECRET
@main struct Room {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let port = Int(arguments[2]) else {
      print("usage: room HOST PORT KEY SECRET")
      return
    }
    let options = PusherClientOptions(
      authMethod: .inline(secret: arguments[4]), host: .host(arguments[1]), port: port,
      useTLS: false)
    let (alice, bob) = (
      member("alice", arguments[3], options), member("bob", arguments[3], options)
    )
    let room = alice.subscribeToPresenceChannel(
      named: "room", delegate: nil)
    let greetings = room.events()
    room.bind(eventName: "pusher:member_added") { event in
      print("alice sees", event.jsonObject?["user_id"]?.text ?? "somebody")
      do {
        try room.trigger(eventName: "client-greeting", data: ["text": "hello"])
      } catch {
        print("no greeting:", error)
      }
    }
    alice.connect()
    for await event in greetings
    where event.eventName == "pusher:subscription_succeeded" { break }

    let other = bob.subscribeToPresenceChannel(named: "room")
    let heard = other.events()
    bob.connect()
    for await event in heard where event.eventName == "client-greeting" {
      print(
        other.myId ?? "nobody", "hears", event.data ?? "nothing", "from", event.userId ?? "nobody")
      break
    }
    print("members:", other.members.map(\.userId).sorted().joined(separator: ", "))
    bob.disconnect()
    alice.disconnect()
  }

  private static func member(_ name: String, _ key: String, _ options: PusherClientOptions)
    -> Pusher
  {
    let pusher = Pusher(key: key, options: options)
    pusher.connection.userDataFetcher = {
      PusherPresenceChannelMember(userId: name, userInfo: ["name": .string(name)])
    }
    return pusher
  }
}

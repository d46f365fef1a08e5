import PusherCore

/// Sends an event through the HTTP API, and waits until it arrives on a private channel.
///
///     notifier HOST PORT APP_ID KEY SECRET
@main struct Notifier {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count == 6, let port = Int(arguments[2]) else {
      print("usage: notifier HOST PORT APP_ID KEY SECRET")
      return
    }
    let host = PusherHost.host(arguments[1])
    let api = PusherAPI(
      appID: arguments[3], key: arguments[4], secret: arguments[5],
      options: PusherAPI.Options(host: host, port: port, useTLS: false))
    let watcher = Watcher()
    let pusher = Pusher(
      key: arguments[4],
      options: PusherClientOptions(
        authMethod: .inline(secret: arguments[5]), host: host, port: port, useTLS: false))
    pusher.delegate = watcher
    let events = pusher.subscribe("private-jobs").events()
    pusher.connect()
    for await event in events {
      if event.eventName == "pusher:subscription_succeeded" {
        do {
          try await api.trigger("done", channels: ["private-jobs"], data: #"{"job":7}"#)
        } catch {
          print("the API said:", error)
          return
        }
      } else if event.eventName == "done" {
        print("job", event.jsonObject?["job"]?.integer ?? 0, "is done")
        break
      }
    }
    withExtendedLifetime(watcher) {}
  }
}

final class Watcher: PusherDelegate {
  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
    print(old.stringValue(), "->", new.stringValue())
  }

  func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
  ) {
    print("cannot join", name, "-", error.message)
  }
}

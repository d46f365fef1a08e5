import PusherCore

/// A client with its own local server that has joined the channels `a` and `b`.
struct JoinedClient {
  let service: LocalService
  let delegate = RecordingDelegate()
  let pusher: Pusher
  let channel: PusherChannel

  init() async throws {
    service = try LocalService()
    pusher = service.pusher()
    pusher.delegate = delegate
    channel = pusher.subscribe("a")
    pusher.subscribe("b")
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: 2)
  }
}

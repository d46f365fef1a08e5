import PusherCore

/// A client of a local server of its own that has joined the channels `a` and `b`.
struct JoinedClient {
  let service: LocalService
  let delegate = RecordingDelegate()
  let pusher: Pusher
  /// The channel `a`.
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

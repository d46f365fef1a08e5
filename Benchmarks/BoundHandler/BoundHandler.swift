import PusherCore

/// A reader for `make bench`: a handler bound to all events counts them, and reads their data if
/// asked to.
///
///     bound-handler PORT [data] [tls CA-FILE]
///     bound-handler PORT channels COUNT
///     bound-handler 0 members COUNT
///
/// Ends with the event `bench.end` and prints the counts. The other two forms measure many channels
/// on one connection, and many members of a presence channel.
@main struct BoundHandler {
  /// Used on the callback thread alone, and read after that thread is done.
  private final class Count: @unchecked Sendable {
    var events = 0
    var bytes = 0
  }

  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count > 1, let port = Int(arguments[1]) else { return }
    if let place = arguments.firstIndex(of: "channels"), place + 1 < arguments.count {
      return await ManyOfThem.channels(Int(arguments[place + 1]) ?? 0, port: port)
    }
    if let place = arguments.firstIndex(of: "members"), place + 1 < arguments.count {
      return ManyOfThem.members(Int(arguments[place + 1]) ?? 0)
    }
    let readsData = arguments.contains("data")
    let authorities = arguments.firstIndex(of: "tls").map { arguments[$0 + 1] }
    let pusher = Pusher(
      key: "bench",
      options: PusherClientOptions(
        autoReconnect: false, host: .host("127.0.0.1"), port: port, useTLS: authorities != nil,
        caFile: authorities))
    let count = Count()
    await withCheckedContinuation { end in
      pusher.bind { event in
        count.events += 1
        if readsData { count.bytes += event.data?.utf8.count ?? 0 }
        if event.eventName == "bench.end" { end.resume() }
      }
      pusher.subscribe("bench")
      pusher.connect()
    }
    pusher.disconnect()
    print(count.events, "events", count.bytes, "bytes of data")
  }
}

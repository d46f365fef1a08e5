import PusherCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Measures many channels, and many members of one: prints the seconds and the growth of memory, in
/// KiB.
enum ManyOfThem {
  /// Subscribes to this number of channels on one connection, one after the other.
  static func channels(_ count: Int, port: Int) async {
    let before = peakMemory()
    let pusher = Pusher(
      key: "bench",
      options: PusherClientOptions(
        autoReconnect: false, host: .host("127.0.0.1"), port: port, useTLS: false))
    let clock = ContinuousClock()
    let start = clock.now
    await withCheckedContinuation { end in
      let left = Countdown(count) { end.resume() }
      pusher.bind(eventName: "pusher:subscription_succeeded") { _ in left.down() }
      for number in 0..<count { pusher.subscribe("channel-\(number)") }
      pusher.connect()
    }
    show("channels", count, clock.now - start, before)
    pusher.disconnect()
  }

  /// Adds and removes members of a presence channel: half are there already, half come one by one,
  /// then all leave.
  ///
  /// It needs no server: the session gets the messages directly.
  static func members(_ count: Int) {
    let before = peakMemory()
    let clock = ContinuousClock()
    let start = clock.now
    var session = Session(options: SessionOptions(), random: SystemRandomNumberGenerator())
    let now = Instant(nanoseconds: 0)
    let buffer = ByteBuffer(capacity: 65_536)
    session.subscribe("presence-a", at: now)
    session.connect(at: now)
    func receive(_ event: String, _ data: JSONValue) {
      let message: JSONValue = [
        "event": .string(event), "channel": "presence-a", "data": .string(data.jsonText),
      ]
      buffer.removeAll()
      buffer.append(message.jsonText)
      _ = session.receive(buffer.view, at: now)
      while let output = session.nextOutput() {
        guard case .authorize(let request) = output else { continue }
        session.authorized(request, .success(Authorization(PusherAuth(auth: "k:s"))), at: now)
      }
    }
    func member(_ number: Int) -> JSONValue {
      ["user_id": .string("user-\(number)"), "user_info": ["name": .string("Name \(number)")]]
    }
    receive("pusher:connection_established", ["socket_id": "1.2", "activity_timeout": 120])
    let there = (0..<count / 2).map { number in
      JSONValue.Member("user-\(number)", ["name": .string("Name \(number)")])
    }
    let presence: JSONValue = ["count": .integer(there.count), "hash": .object(there)]
    receive("pusher_internal:subscription_succeeded", ["presence": presence])
    for number in count / 2..<count { receive("pusher_internal:member_added", member(number)) }
    for number in 0..<count { receive("pusher_internal:member_removed", member(number)) }
    show("members", count, clock.now - start, before)
  }

  private static func show(_ what: String, _ count: Int, _ time: Duration, _ before: Int) {
    print(what, count, time.inSeconds, peakMemory() - before)
  }

  /// The largest resident memory so far, in KiB.
  private static func peakMemory() -> Int {
    var usage = rusage()
    #if canImport(Glibc)
      _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      return usage.ru_maxrss
    #else
      _ = unsafe getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss / 1024
    #endif
  }
}

/// Counts down on the callback thread alone.
private final class Countdown: @unchecked Sendable {
  private var left: Int
  private let whenDone: @Sendable () -> Void

  init(_ count: Int, whenDone: @escaping @Sendable () -> Void) {
    left = count
    self.whenDone = whenDone
  }

  func down() {
    left -= 1
    if left == 0 { whenDone() }
  }
}

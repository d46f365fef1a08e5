import PusherCluster
import PusherCore
import PusherServer
import Testing

final class LinkHarness {
  let link: RedisLink
  let server: RedisServer
  private let harness: LoopHarness
  private var condition: () -> Bool = { true }
  private(set) var states: [RedisLink.State] = []
  private(set) var messages: [(channel: String, payload: String)] = []

  /// A link to a server, by default to a new one; `PORT` in the URL is replaced by its port.
  init(
    to server: RedisServer? = nil, _ url: String = "redis://127.0.0.1:PORT",
    _ change: (inout RedisPolicy) -> Void = { _ in }
  ) throws {
    self.server = try server ?? RedisServer()
    let settings = try RedisSettings(parsing: url.replacing("PORT", with: "\(self.server.port)"))
    harness = try LoopHarness()
    var policy = RedisPolicy()
    // Long enough for a busy machine.
    policy.answerTime = .seconds(30)
    policy.connectTime = .seconds(30)
    policy.backoff = Backoff(floor: .milliseconds(5), ceiling: .milliseconds(50))
    change(&policy)
    link = RedisLink(
      settings: settings, policy: policy, loop: harness.loop,
      random: SystemRandomNumberGenerator())
    link.onChange = { [unowned self] in states.append($0) }
    link.onMessage = { [unowned self] channel, payload in
      messages.append(
        (String(decoding: channel, as: UTF8.self), String(decoding: payload, as: UTF8.self)))
    }
    harness.loop.beforeWait { [unowned self] in if condition() { harness.loop.stop() } }
    link.start()
  }

  /// A link that is up.
  static func up(
    to server: RedisServer? = nil, _ url: String = "redis://127.0.0.1:PORT",
    _ change: (inout RedisPolicy) -> Void = { _ in }
  ) throws -> LinkHarness {
    let harness = try LinkHarness(to: server, url, change)
    try harness.comeUp()
    return harness
  }

  deinit {
    link.close()
  }

  /// Runs the loop until the condition holds; returns false after one minute.
  func run(until condition: @escaping () -> Bool) -> Bool {
    self.condition = condition
    defer { self.condition = { true } }
    return harness.run()
  }

  func turn() { _ = run { true } }

  func comeUp() throws { try #require(run { self.link.isUp }, "\(states)") }

  /// Returns the reason of the first loss from the given state on.
  func loss(since start: Int = 0) throws -> RedisFailure {
    try #require(run { self.firstLoss(since: start) != nil }, "\(states)")
    return try #require(firstLoss(since: start))
  }

  private func firstLoss(since start: Int) -> RedisFailure? {
    for case .down(let failure, _) in states.dropFirst(start) { return failure }
    return nil
  }

  func ask(_ words: String...) throws -> RedisReply { try result(words).get() }

  func result(_ words: [String]) throws -> Result<RedisReply, RedisFailure> {
    try result { link.send(RedisCommand(words.map { Array($0.utf8) }), $0) }
  }

  func run(_ script: RedisScript, _ key: String, _ argument: String) throws -> RedisReply {
    try result {
      link.run(script, keys: [Array(key.utf8)], arguments: [Array(argument.utf8)], $0)
    }.get()
  }

  func run(_ call: ClusterCall) throws -> RedisReply { try result { link.run(call, $0) }.get() }

  func subscribe(_ channel: String) throws {
    try result { link.subscribe(Array(channel.utf8), $0) }.get()
  }

  private func result<Value>(
    _ ask: (@escaping (Result<Value, RedisFailure>) -> Void) -> Void
  ) throws -> Result<Value, RedisFailure> {
    var result: Result<Value, RedisFailure>?
    ask { result = $0 }
    try #require(run { result != nil })
    return try #require(result)
  }
}

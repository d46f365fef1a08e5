internal import PusherCore

/// Sends events through the HTTP API over a few kept connections.
///
/// All calls of a channel use the same connection, one after another, so that their order is
/// certain. A call that waits for the one before it counts as late.
final class APISender: BenchSender {
  /// Maximum number of connections.
  private static let width = 8

  private final class Lane {
    let calls: HTTPConnection
    var waiting = Fifo<Int>()
    var isBusy = false

    init(_ calls: HTTPConnection) { self.calls = calls }
  }

  private let client: APIClient
  private let channels: [String]
  private let key: EncryptionMasterKey?
  private let lanes: [Lane]
  private var open: Set<Int> = []
  /// The next call, signed while there was time.
  private var prepared: (call: Int, request: HTTPExchange.Request)?
  private var isRefused = false

  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ settings: BenchSettings, _ access: APIAccess, _ message: BenchMessage, _ fleet: BenchFleet
  ) throws {
    client = access.client
    channels = settings.subscription.channels
    key = settings.encryptionKey
    var lanes: [Lane] = []
    for _ in 0..<min(channels.count, Self.width) {
      lanes.append(Lane(try access.calls(on: fleet.loop)))
    }
    self.lanes = lanes
    super.init(message, fleet)
  }

  override var isIdle: Bool { open.isEmpty }
  override var preparesCalls: Bool { true }

  override func prepare(_ call: Int) {
    guard prepared?.call != call else { return }
    prepared = (try? request(call)).map { (call, $0) }
  }

  override func send(_ call: Int) {
    let lane = lanes[ledger.plan.channel(of: call) % lanes.count]
    open.insert(call)
    lane.waiting.append(call)
    advance(lane)
  }

  override func giveUp() {
    for lane in lanes {
      lane.calls.close()
      _ = lane.waiting.takeAll()
    }
    for call in open.sorted() {
      // After a refusal, nobody waits for the answers.
      ledger.noteFailed(
        call, "api unanswered", "no answer before the end", isRefused ? nil : .unreachable,
        at: loop.now)
    }
    open = []
  }

  override func close() { giveUp() }

  private func advance(_ lane: Lane) {
    while !lane.isBusy, let call = lane.waiting.popFirst() {
      do {
        try start(call, on: lane)
      } catch {
        lane.isBusy = false
        open.remove(call)
        ledger.noteFailed(call, "unsent", "\(error)", .settings, at: loop.now)
      }
    }
  }

  private func start(_ call: Int, on lane: Lane) throws {
    let ready = prepared?.call == call ? prepared?.request : nil
    let request = try ready ?? request(call)
    ledger.noteBegin(call, at: loop.now)
    lane.isBusy = true
    try lane.calls.send(request, of: client) { [unowned self, unowned lane] outcome in
      lane.isBusy = false
      ended(call, outcome)
      advance(lane)
    }
  }

  private func ended(_ call: Int, _ outcome: APIOutcome) {
    open.remove(call)
    let now = loop.now
    switch outcome {
    case .failure(let failure):
      var code = "network"
      if case .timeout = failure { code = "timeout" }
      ledger.noteFailed(call, "api \(code)", "\(failure)", Cause(failure), at: now)
    case .success((.accepted, _)): ledger.noteAccepted(call, at: now)
    case .success((let answer, let head)):
      var words = [answer.reason]
      if case .refused(_, _, let refusal) = answer {
        words.append(Hints.advice(refusal, of: client))
      }
      ledger.noteFailed(
        call, "api \(head.status)", words.filter { !$0.isEmpty }.joined(separator: "; "),
        Cause(httpStatus: head.status), at: now)
      guard case .refused = answer else { return }
      isRefused = true
      onRefusal?()
    }
  }

  private func request(_ call: Int) throws -> HTTPExchange.Request {
    let plan = ledger.plan
    let channel = plan.channel(of: call)
    var events: [PusherAPI.Event] = []
    for number in plan.numbers(of: call) {
      let data = message.data(plan.name(of: number, in: call)).jsonText
      let event = PusherAPI.Event(
        name: BenchMessage.event, channel: channels[channel], data: data)
      events.append(try event.encrypted(with: key))
    }
    return client.request(try .sending(events, appID: client.appID))
  }
}

extension BenchMessage {
  /// Name of the events; client events have `client-` in front.
  static let event = "bench"
}

import PusherCore
import PusherServer
import TestSupport

/// Checks the local server without sockets: two clients of one hub, the HTTP API, time, and any
/// dialect.
///
/// Input: a byte of options, then one step a line, named by its first letter. Clients always get
/// valid frames with JSON, and no client stays in the hub.
func fuzzServer(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  input.take(Town.self)
  return 0
}

private final class Town: Walk {
  private let applications: Applications
  private let router: APIRouter
  private let hub: Hub
  private let context: SessionContext
  private var now = Instant(nanoseconds: 0)
  private var clients: [Client] = []
  private static let application = Application(
    id: "3", key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8")

  private final class Client {
    let wire = WebSocketConnection(role: .client, random: SeededGenerator(seed: 3))
    let session: ClientSession

    init(_ session: ClientSession) {
      self.session = session
    }
  }

  init(options: UInt8) {
    let dialect = Dialect.allCases[Int(options >> 5) % Dialect.allCases.count]
    context = SessionContext(dialect: dialect)
    var limits = dialect.limits
    limits.sizes.outputQueue = options & 1 == 0 ? 1 << 20 : 1000
    limits.subscriptions = options & 2 == 0 ? 1000 : 2
    if options & 4 != 0 { limits.presenceMembers = 1 }
    if options & 8 != 0 { limits.sizes.clientMessage = 100 }
    var application = Self.application
    application.allowsClientEvents = options & 16 == 0
    applications = Applications(
      limits: limits, dialect: dialect, text: MessageText(dialect: dialect),
      random: SeededGenerator(seed: 2))
    applications.renew([
      AppSetup(application, limits: limits, service: .pusher, dialect: dialect)
    ])
    router = APIRouter(applications)
    hub = applications.hubs[0]
    for _ in 0..<2 {
      let connection = WebSocketConnection(
        role: .server,
        limits: WebSocketLimits(
          frame: limits.sizes.clientMessage, message: limits.sizes.clientMessage),
        random: SeededGenerator(seed: 1))
      clients.append(
        Client(
          ClientSession(
            connection, socketID: applications.newSocketID(), hub: hub, context: context, at: now)))
    }
  }

  func step(_ line: ArraySlice<UInt8>) {
    let rest = Array(line.dropFirst())
    let client = clients[(line.first ?? 0) & 1 == 0 ? 0 : 1]
    switch line.first {
    case UInt8(ascii: "0"), UInt8(ascii: "1"):
      client.wire.send(text: text(rest))
      deliver(from: client)
    case UInt8(ascii: "2"), UInt8(ascii: "3"): authorize(client, text(rest))
    case UInt8(ascii: "w"), UInt8(ascii: "x"): signIn(client, text(rest))
    case UInt8(ascii: "e"): call("POST", "/apps/3/users/7/events", rest)
    case UInt8(ascii: "k"): call("POST", "/apps/3/users/7/terminate_connections", rest)
    case UInt8(ascii: "4"), UInt8(ascii: "5"):
      client.session.connection.receive(rest)
      client.session.receive(at: now)
    case UInt8(ascii: "6"), UInt8(ascii: "7"): client.session.inputEnded(at: now)
    case UInt8(ascii: "8"), UInt8(ascii: "9"): client.session.outputSent(at: now)
    case UInt8(ascii: "p"): call("POST", "/apps/3/events", rest)
    case UInt8(ascii: "b"): call("POST", "/apps/3/batch_events", rest)
    case UInt8(ascii: "g"): call("GET", text(rest), nil)
    case UInt8(ascii: "u"): request(text(rest))
    case UInt8(ascii: "t"): wait(.seconds(Int(rest.first ?? 0)))
    default: return
    }
    for client in clients { collect(client) }
    for session in context.ledger.takeTouched() { session.settle(at: now) }
    for event in hub.takeLog() { requireTame(event.description, "in the log") }
  }

  /// Joins `CHANNEL` or `CHANNEL|CHANNEL_DATA` with a valid signature.
  private func authorize(_ client: Client, _ text: String) {
    let parts = text.split(separator: "|", maxSplits: 1).map(String.init)
    guard let channel = parts.first else { return }
    let auth = SubscriptionSignature(
      key: hub.application.key, secret: hub.application.secret
    ).authorize(
      socketID: client.session.socketID, channel: channel,
      channelData: parts.count > 1 ? parts[1] : nil)
    let command = ClientCommand(service: .pusher)
    client.wire.send(text: command.subscribe(channel: channel, auth: Authorization(auth)))
    deliver(from: client)
  }

  private func signIn(_ client: Client, _ userData: String) {
    let auth = SubscriptionSignature(key: hub.application.key, secret: hub.application.secret)
      .signIn(socketID: client.session.socketID, userData: userData)
    let user = PusherUserAuth(auth: auth, userData: userData)
    client.wire.send(text: ClientCommand(service: .pusher).signIn(Authorization(user)))
    deliver(from: client)
  }

  private func deliver(from client: Client) {
    client.session.connection.receive(client.wire.output.array)
    client.wire.output.consume(client.wire.output.count)
    client.session.receive(at: now)
  }

  private func call(_ method: String, _ target: String, _ body: [UInt8]?) {
    let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
    let parameters = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
      let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
      return APIRequest.Parameter(sides.first ?? "", sides.count > 1 ? sides[1] : "")
    }
    let signed = APIRequest(
      method: method, path: parts.first ?? "/", parameters: parameters, body: body
    ).signed(key: hub.application.key, secret: hub.application.secret, timestamp: 1)
    answer(method, signed.target, body ?? [])
  }

  private func request(_ target: String) {
    answer("GET", target, [])
    let head = HTTPRequestHead(method: "GET", target: target)
    do throws(ProtocolRefusal) { _ = try applications.admit(head) } catch {
      require((4000..<4300).contains(error.code?.rawValue ?? 0), "refused with \(error)")
    }
  }

  private func answer(_ method: String, _ target: String, _ body: [UInt8]) {
    let head = HTTPRequestHead(method: method, target: target)
    var progress = router.begin(.init(head: head, body: body), seconds: 1, at: now)
    while case .pauses(let next) = progress { progress = next(now) }
    guard case .answer(let answer) = progress else { finding("a call without an answer") }
    let output = ByteBuffer()
    answer.write(to: output, keepsAlive: true)
    guard let read = try? HTTPHeadParser.response(from: output) else {
      finding("an answer that cannot be read: \(output.view.text)")
    }
    require(read.headers["Content-Length"] == String(output.count), "the length of an answer")
    if answer.isJSON { requireJSON(output.array, "an answer") }
  }

  private func wait(_ time: Duration) {
    let end = now.advanced(by: time)
    for client in clients {
      var ticks = 0
      while let deadline = client.session.deadline, deadline <= end {
        client.session.tick(at: max(now, deadline))
        ticks += 1
        require(ticks < 1000, "the deadline does not pass: \(deadline)")
      }
    }
    now = end
  }

  private func collect(_ client: Client) {
    let output = client.session.connection.output
    require(
      output.count <= applications.limits.sizes.outputQueue + (4 << 20) + 200, "the output grows")
    client.wire.receive(output.array)
    output.consume(output.count)
    while let event = client.wire.next() {
      switch event {
      case .text(let view):
        requireJSON(view.array, "a message")
        require((try? Envelope(view)) != nil, "a message that is none: \(view.text)")
      case .failed(let error): finding("a client that fails: \(error)")
      default: break
      }
    }
    client.session.outputSent(at: now)
  }

  func finish() {
    for client in clients {
      client.session.inputEnded(at: now)
      client.session.settle(at: now)
      require(client.session.isFinished && client.session.deadline == nil, "alive after the end")
    }
    // The ledger keeps clients with output until they are taken.
    _ = context.ledger.takeTouched()
    require(hub.connectionCount == 0, "sockets stay in the hub")
    require(hub.occupiedChannels.isEmpty, "channels stay: \(hub.occupiedChannels)")
  }
}

import PusherCore
import PusherServer
import TestSupport
import Testing

/// A client of a hub without a socket; its messages reach the session as masked frames.
final class HubClient {
  let hub: Hub
  let session: ClientSession
  let wire = WebSocketConnection.client()
  var now = Instant(nanoseconds: 0)

  init(
    _ hub: Hub, _ socketID: String, from address: ClientAddress? = nil, context: SessionContext
  ) {
    self.hub = hub
    session = ClientSession(
      WebSocketConnection(
        role: .server, limits: WebSocketLimits(frame: 102_400, message: 102_400),
        random: SeededGenerator(seed: 1)),
      socketID: socketID, from: address, hub: hub, context: context, at: now)
  }

  convenience init(
    _ hub: Hub, _ socketID: String, from address: ClientAddress? = nil, dialect: Dialect = .pusher
  ) { self.init(hub, socketID, from: address, context: SessionContext(dialect: dialect)) }

  func send(_ text: String) {
    wire.send(text: text)
    deliverInput()
  }

  func answers(to text: String) -> [String] {
    _ = texts()
    send(text)
    return texts()
  }

  func deliverInput() {
    session.connection.receive(wire.takeOutput())
    session.receive(at: now)
    session.settle(at: now)
  }

  func received() -> [ReceivedEvent] {
    wire.events(after: session.connection.takeOutput())
  }

  func texts() -> [String] {
    received().compactMap { if case .text(let text) = $0 { text } else { nil } }
  }

  func subscribe(_ channel: String) {
    send(#"{"event":"pusher:subscribe","data":{"auth":"","channel":"\#(channel)"}}"#)
  }

  func unsubscribe(_ channel: String) {
    send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
  }

  func authorize(_ channel: String, channelData: String? = nil) {
    let application = hub.application
    let auth = SubscriptionSignature(key: application.key, secret: application.secret)
      .authorize(socketID: session.socketID, channel: channel, channelData: channelData)
    send(ClientCommand(service: .pusher).subscribe(channel: channel, auth: Authorization(auth)))
  }

  func wait(_ duration: Duration) {
    now = now.advanced(by: duration)
    session.tick(at: now)
    session.settle(at: now)
  }

  func settle() {
    session.settle(at: now)
  }

  func lose(reason: String = "gone") {
    session.lost(reason: reason, at: now)
    session.settle(at: now)
  }
}

extension Applications {
  /// Apps on one node; of two with the same id or key the first counts.
  convenience init(
    _ applications: [Application], limits: ServerLimits = ServerLimits(),
    service: PusherService = .pusher, dialect: Dialect = .pusher,
    random: any RandomNumberGenerator
  ) {
    self.init(
      limits: limits, dialect: dialect, text: MessageText(service: service, dialect: dialect),
      random: random)
    renew(applications.map { AppSetup($0, limits: limits, service: service, dialect: dialect) })
  }
}

extension Hub {
  /// A hub on the only node of its app.
  convenience init(
    application: Application, limits: ServerLimits = ServerLimits(),
    service: PusherService = .pusher, dialect: Dialect = .pusher
  ) {
    self.init(AppSetup(application, limits: limits, service: service, dialect: dialect))
  }

  /// A hub with the app of the protocol's vectors.
  static func forTests(
    allowsClientEvents: Bool = true, _ change: (inout ServerLimits) -> Void = { _ in }
  ) -> Hub {
    var limits = ServerLimits()
    change(&limits)
    return Hub(
      application: .forTests(allowsClientEvents: allowsClientEvents), limits: limits)
  }
}

extension Hub {
  @discardableResult
  func publish(
    name: String, channel: String, data: JSONValue, except excluded: String? = nil
  ) -> Int? {
    publish(name: name, channel: channel, data: data, except: excluded, at: .start)
  }

  func userIDs(_ channel: String) -> [String] { facts(of: channel).members.members.map(\.userID) }

  func cachedData(_ channel: String, at now: Instant = .start) -> String? {
    facts(of: channel, at: now).cached?.event.data.dataText
  }

  func subscriptionCount(_ channel: String) -> Int { facts(of: channel).subscriptions }
}

extension APIRouter {
  /// Returns the answer of a server without peers, which is available at once.
  func answer(
    _ request: HTTPRequestReader.Request, seconds: Int64, at now: Instant
  ) -> HTTPAnswer {
    var progress = begin(request, seconds: seconds, at: now)
    // A long list takes several turns.
    while case .pauses(let next) = progress { progress = next(now) }
    if case .answer(let answer) = progress { return answer }
    Issue.record("the call waits")
    return .refusal(500, "no answer")
  }
}

extension Instant {
  fileprivate static let start = Instant(nanoseconds: 0)
}

extension Application {
  static func forTests(allowsClientEvents: Bool = true) -> Application {
    Application(
      id: "3", key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8",
      allowsClientEvents: allowsClientEvents)
  }
}

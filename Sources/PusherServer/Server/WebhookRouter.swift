internal import PusherCore

/// Passes notices of a node's hubs to the webhooks of their apps.
final class WebhookRouter {
  private final class Place {
    let hub: Hub
    let application: Application
    let dispatcher: WebhookDispatcher

    init(_ hub: Hub, _ dispatcher: WebhookDispatcher) {
      (self.hub, self.dispatcher) = (hub, dispatcher)
      application = hub.application
    }
  }

  private let loop: EventLoop
  private let policy: WebhookPolicy
  private let report: (ServerLogEvent) -> Void
  private let onIdle: () -> Void
  private var places: [Place] = []
  /// Dispatchers of removed apps or former webhooks that still have waiting notices.
  private var retired: [WebhookDispatcher] = []
  private var tls: TLSContext?

  init(
    loop: EventLoop, policy: WebhookPolicy, report: @escaping (ServerLogEvent) -> Void,
    onIdle: @escaping () -> Void
  ) { (self.loop, self.policy, self.report, self.onIdle) = (loop, policy, report, onIdle) }

  /// - Throws: ``TLSError`` if an app has secure webhooks and certificates cannot be checked.
  static func check(_ applications: [Application], _ policy: WebhookPolicy) throws(TLSError) {
    _ = try context(applications, policy)
  }

  private static func context(
    _ applications: [Application], _ policy: WebhookPolicy
  ) throws(TLSError) -> TLSContext? {
    guard applications.contains(where: { $0.webhooks.contains(where: \.isSecure) }) else {
      return nil
    }
    return try TLSContext.client(TLSConfiguration(), environment: policy.trust)
  }

  /// Replaces the hubs, leaving ones included.
  ///
  /// - Throws: ``TLSError`` as ``check(_:_:)`` does; then nothing has changed.
  func renew(_ hubs: [Hub]) throws(TLSError) {
    if tls == nil { tls = try Self.context(hubs.map(\.application), policy) }
    let former = places
    places = hubs.compactMap { hub in
      let app = hub.application
      guard let place = former.first(where: { $0.hub === hub }), place.application.tells(as: app)
      else { return dispatcher(app).map { Place(hub, $0) } }
      return place
    }
    for place in former where !places.contains(where: { $0 === place }) { retire(place) }
  }

  private func dispatcher(_ application: Application) -> WebhookDispatcher? {
    WebhookDispatcher(
      application, loop: loop, tls: tls, policy: policy, report: report,
      onIdle: { [weak self] in self?.noteIdle() })
  }

  private func retire(_ place: Place) {
    let dispatcher = place.dispatcher
    dispatcher.take(place.hub.takeNotices(), at: loop.now)
    dispatcher.retire()
    if dispatcher.isIdle { dispatcher.close() } else { retired.append(dispatcher) }
  }

  private func noteIdle() {
    for dispatcher in retired where dispatcher.isIdle { dispatcher.close() }
    retired.removeAll(where: \.isIdle)
    onIdle()
  }

  /// - Parameter watch: Receives the notices too.
  func takeNotices(at now: Instant, _ watch: (Application, [WebhookNotice]) -> Void) {
    for place in places {
      let notices = place.hub.takeNotices()
      guard !notices.isEmpty else { continue }
      watch(place.application, notices)
      place.dispatcher.take(notices, at: now)
    }
  }

  func send(_ name: String, _ body: [UInt8], ofApp id: String) -> Bool {
    guard let place = places.first(where: { $0.application.id.isSame(as: id) }) else {
      return false
    }
    place.dispatcher.send(name, body)
    return true
  }

  private var dispatchers: [WebhookDispatcher] { places.map(\.dispatcher) + retired }
  var isIdle: Bool { dispatchers.allSatisfy(\.isIdle) }

  /// Sends all waiting and held-back notices when the server ends.
  func finish() { for dispatcher in dispatchers { dispatcher.finish() } }
  func close() { for dispatcher in dispatchers { dispatcher.close() } }
}

extension Application {
  fileprivate func tells(as other: Application) -> Bool {
    webhooks == other.webhooks && key.isSame(as: other.key) && secret.isSame(as: other.secret)
  }
}

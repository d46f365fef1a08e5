package import PusherCore

/// The HTTP API: one request to one answer, and what it does to the hub.
///
/// Source: Pusher's page "HTTP API reference".
package struct APIRouter {
  private let applications: Applications

  package init(_ applications: Applications) {
    self.applications = applications
  }

  /// Answers a request; `seconds` is the time since 1970.
  package func answer(
    _ request: HTTPRequestReader.Request, seconds: Int64, at now: Instant
  ) -> HTTPAnswer {
    dialect.answers.worded(plainAnswer(request, seconds: seconds, at: now))
  }

  private var dialect: Dialect { applications.dialect }

  private func plainAnswer(
    _ request: HTTPRequestReader.Request, seconds: Int64, at now: Instant
  ) -> HTTPAnswer {
    let head = request.head
    guard let target = RequestTarget(head.target, prefix: applications.pathPrefix) else {
      return .refusal(400, "the path or the query is not percent-encoded UTF-8")
    }
    if let page = dialect.answers.page(target.path) { return page }
    guard let place = place(of: target) else {
      return .refusal(404, "Unknown path: the API is at /apps/ID, sockets at /app/KEY")
    }
    guard let call = APICall(place.call, dialect) else {
      return .refusal(404, "Unknown API call")
    }
    guard head.method == call.method else {
      return .refusal(head.method, allow: call.method)
    }
    guard let hub = place.hub else { return .refusal(404, "Unknown app: \(place.app)") }
    let authentication = APIAuthentication(
      method: head.method, target: target, body: request.body, pathPrefix: applications.pathPrefix,
      dialect: dialect)
    if let refusal = authentication.refusal(for: hub.application, seconds: seconds) {
      return refusal
    }
    guard hub.application.isEnabled else { return .refusal(403, "The app is disabled") }
    return perform(call, hub, target, body: request.body, at: now)
  }

  /// The app that a path names, and its parts after that.
  ///
  /// The official Python library ends a user's connections at `/users/ID/terminate_connections`: its key names the app.
  private func place(of target: RequestTarget) -> (app: String, hub: Hub?, call: [String])? {
    guard let segments = target.segments, segments.count >= 3 else { return nil }
    if segments[0] == "apps" {
      return (segments[1], applications.hub(id: segments[1]), Array(segments.dropFirst(2)))
    }
    guard dialect.findsAppByKey, segments[0] == "users", segments[2] == "terminate_connections"
    else {
      return nil
    }
    let key = target["auth_key"] ?? ""
    return ("with key '\(key)'", applications.hub(key: key), segments)
  }

  private func perform(
    _ call: APICall, _ hub: Hub, _ target: RequestTarget, body: [UInt8], at now: Instant
  ) -> HTTPAnswer {
    let inspect = InspectCall(hub, dialect, at: now)
    let publish = PublishCall(hub, dialect, at: now)
    do throws(HTTPAnswer) {
      switch call {
      case .events: return .json(try publish.event(body))
      case .batchEvents: return .json(try publish.batch(body))
      case .channels: return .json(try inspect.channels(target))
      case .channel(let name): return .json(try inspect.channel(name, target))
      case .userEvents(let userID): return .json(try publish.userEvent(userID, body))
      case .terminate(let userID):
        hub.terminateConnections(userID: userID, at: now)
        return .json(dialect.done)
      case .users(let channel): return .json(try inspect.users(channel, target))
      case .connections:
        return .json(.object([.init("connections", .integer(hub.connectionCount))]))
      }
    } catch {
      return error
    }
  }
}

/// The calls that the API knows below `/apps/ID`.
private enum APICall {
  case events
  case batchEvents
  case channels
  case channel(String)
  case users(channel: String)
  case userEvents(userID: String)
  case terminate(userID: String)
  /// Not every server has it.
  case connections

  init?(_ segments: [String], _ dialect: Dialect) {
    switch (segments.first, segments.count) {
    case ("events", 1): self = .events
    case ("batch_events", 1): self = .batchEvents
    case ("channels", 1): self = .channels
    case ("connections", 1) where dialect.countsConnections: self = .connections
    case ("channels", 2): self = .channel(segments[1])
    case ("channels", 3) where segments[2] == "users": self = .users(channel: segments[1])
    case ("users", 3) where segments[2] == "events": self = .userEvents(userID: segments[1])
    case ("users", 3) where segments[2] == "terminate_connections":
      self = .terminate(userID: segments[1])
    default: return nil
    }
  }

  var method: String {
    switch self {
    case .events, .batchEvents, .userEvents, .terminate: "POST"
    case .channels, .channel, .users, .connections: "GET"
    }
  }
}

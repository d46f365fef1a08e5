package import PusherCore

/// The HTTP API: turns one request into one answer, and changes the hub.
///
/// Source: Pusher's page "HTTP API reference".
package struct APIRouter {
  private let applications: Applications

  package init(_ applications: Applications) { self.applications = applications }

  /// - Parameters:
  ///   - seconds: Time since 1970.
  ///   - isHeld: Makes an authentic call pause before it has an effect.
  package func begin(
    _ request: HTTPRequestReader.Request, seconds: Int64, isHeld: Bool = false, at now: Instant
  ) -> CallBeginning {
    do throws(HTTPAnswer) {
      var call = try call(request, seconds: seconds, at: now)
      if isHeld { return .call(call, .pauses) }
      let progress = call.proceed(at: now)
      if case .answer(let answer) = progress { return .answer(answer) }
      return .call(call, progress)
    } catch { return .answer(dialect.answers.worded(error)) }
  }

  private var dialect: Dialect { applications.dialect }

  private func call(
    _ request: HTTPRequestReader.Request, seconds: Int64, at now: Instant
  ) throws(HTTPAnswer) -> APICall {
    let head = request.head
    guard let target = RequestTarget(head.target) else {
      throw .refusal(400, "the path or the query is not percent-encoded UTF-8")
    }
    if let page = dialect.answers.page(target.path) { throw page }
    guard let place = place(of: target) else {
      throw .refusal(404, "Unknown path: the API is at /apps/ID, sockets at /app/KEY")
    }
    guard let (method, perform) = route(place.call) else { throw .refusal(404, "Unknown API call") }
    guard head.method == method else { throw .refusal(head.method, allow: method) }
    guard let hub = place.hub else { throw .refusal(404, "Unknown app: \(place.app)") }
    if let refusal = refusal(request, target, for: hub.application, seconds: seconds) {
      throw refusal
    }
    guard hub.application.isEnabled else { throw .refusal(403, "The app is disabled") }
    return APICall(
      path: place.call, target: target, body: request.body, hub: hub, dialect: dialect, at: now,
      perform)
  }

  /// Finds the app by its key for the official Python library, which closes a user's connections at
  /// `/users/ID/terminate_connections`.
  private func place(of target: RequestTarget) -> (app: String, hub: Hub?, call: [String])? {
    guard let segments = target.segments, segments.count >= 3 else { return nil }
    if segments[0] == "apps" {
      return (segments[1], applications.hub(id: segments[1]), Array(segments.dropFirst(2)))
    }
    guard dialect.has(.findsAppByKey), segments[0] == "users",
      segments[2] == "terminate_connections"
    else { return nil }
    let key = target["auth_key"] ?? ""
    return ("with key '\(key)'", applications.hub(key: key), segments)
  }

  private func route(_ path: [String]) -> (method: String, perform: APICall.Perform)? {
    switch (path.first, path.count, path.last) {
    case ("events", 1, _): ("POST", { (call) throws(HTTPAnswer) in try call.event() })
    case ("batch_events", 1, _): ("POST", { (call) throws(HTTPAnswer) in try call.batch() })
    case ("users", 3, "events"): ("POST", { (call) throws(HTTPAnswer) in try call.userEvent() })
    case ("users", 3, "terminate_connections"):
      ("POST", { (call) throws(HTTPAnswer) in try call.terminate() })
    case ("channels", 1, _): ("GET", { (call) throws(HTTPAnswer) in try call.channels() })
    case ("channels", 2, _): ("GET", { (call) throws(HTTPAnswer) in try call.channel() })
    case ("channels", 3, "users"): ("GET", { (call) throws(HTTPAnswer) in try call.users() })
    case ("connections", 1, _) where dialect.has(.countsConnections): ("GET", { $0.connections() })
    default: nil
    }
  }
}

extension APIRouter {
  /// Returns `nil` if the call is authentic.
  private func refusal(
    _ request: HTTPRequestReader.Request, _ target: RequestTarget, for application: Application,
    seconds: Int64
  ) -> HTTPAnswer? {
    guard let key = target["auth_key"], let given = target["auth_signature"] else {
      return .refusal(401, "this call needs auth_key and auth_signature")
    }
    guard key.isSame(as: application.key) else {
      return .refusal(401, "Unknown auth_key: this is not the key of app \(application.id)")
    }
    guard target["auth_version"] == APIRequestSignature.version else {
      return .refusal(401, "auth_version is not \(APIRequestSignature.version)")
    }
    if let refusal = timestampRefusal(target, seconds) ?? bodyRefusal(target, request.body) {
      return refusal
    }
    let signed = APIRequestSignature.stringToSign(
      method: request.head.method, path: target.path, parameters: target.parameters)
    guard !APIRequestSignature.isValid(given, of: signed, secret: application.secret) else {
      return nil
    }
    let shown = JSONWriter.text(.string(signed))
    return .refusal(
      401,
      "Invalid signature: you should have sent HmacSHA256Hex(\(shown), your_secret_key), "
        + "but you sent \(JSONWriter.text(.string(given)))")
  }

  private func timestampRefusal(_ target: RequestTarget, _ seconds: Int64) -> HTTPAnswer? {
    guard let text = target["auth_timestamp"], let timestamp = Int64(text) else {
      return .refusal(401, "auth_timestamp is not a Unix time in seconds")
    }
    let tolerance = APIRequestSignature.timestampTolerance
    guard dialect.has(.checksTimestamps) else { return nil }
    guard (seconds - tolerance...seconds + tolerance).contains(timestamp) else {
      return .refusal(
        401,
        "Timestamp expired: Given timestamp (\(timestamp)) not within \(tolerance)s "
          + "of server time (\(seconds))")
    }
    return nil
  }

  private func bodyRefusal(_ target: RequestTarget, _ body: [UInt8]) -> HTTPAnswer? {
    let digest = APIRequestSignature.bodyDigest(body)
    guard let given = target["body_md5"] else {
      return body.isEmpty ? nil : .refusal(401, "a call with a body needs body_md5")
    }
    guard given.lowercased() == digest else {
      return .refusal(401, "Invalid body_md5: the body's MD5 is \(digest)")
    }
    return nil
  }
}

import PusherCore

/// The routes of an application for Vapor, with a stand-in for the parts of Vapor that they use.
struct OnVapor {
  private let app = Application()

  init(_ api: PusherAPI) {
    app.post("pusher", "auth") { request in
      let user = try request.auth.require(User.self)
      let question = try request.content.decode(ChannelQuestion.self)
      let text = try answer(question, for: user, by: api)
      return Response(
        status: .ok, headers: ["Content-Type": "application/json"], body: .init(string: text))
    }

    app.on(.POST, "pusher", "webhooks", body: .collect(maxSize: "1mb")) { request in
      try take(
        request.body.data.map { Array(buffer: $0) } ?? [],
        key: request.headers.first(name: "X-Pusher-Key"),
        signature: request.headers.first(name: "X-Pusher-Signature"), by: api)
      return Response(status: .ok)
    }
  }

  func call(_ path: String, _ request: Incoming) async throws -> String {
    guard let handler = app.handlers.first(where: { $0.path == path })?.handler else { return "" }
    return try await handler(Request(request)).body.text
  }
}

private struct Request: Sendable {
  struct Content: Sendable {
    let form: [String: String]
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try JSONValue(encoding: form).decode(type)
    }
  }

  struct Auth: Sendable {
    let user: User
    func require(_ type: User.Type) throws -> User { user }
  }

  struct Body: Sendable { let data: ByteBuffer? }

  struct Headers: Sendable {
    let fields: [String: String]
    func first(name: String) -> String? { fields[name] }
  }

  let content: Content
  let auth: Auth
  let body: Body
  let headers: Headers

  init(_ request: Incoming) {
    content = Content(form: request.form)
    auth = Auth(user: request.user)
    body = Body(data: ByteBuffer(bytes: request.body))
    headers = Headers(fields: request.headers)
  }
}

private struct Response: Sendable {
  enum Status { case ok }
  struct Body: Sendable {
    var text = ""
    init() {}
    init(string: String) { text = string }
  }

  var body: Body
  init(status: Status, headers: [String: String] = [:], body: Body = Body()) { self.body = body }
}

// Sendable because nothing changes after the initializer of `OnVapor`.
private final class Application: @unchecked Sendable {
  typealias Handler = @Sendable (Request) async throws -> Response
  enum Method { case POST }
  enum BodyStrategy { case collect(maxSize: String) }

  var handlers: [(path: String, handler: Handler)] = []

  func post(_ path: String..., use handler: @escaping Handler) {
    handlers.append((path.joined(separator: "/"), handler))
  }

  func on(
    _ method: Method, _ path: String..., body: BodyStrategy, use handler: @escaping Handler
  ) {
    handlers.append((path.joined(separator: "/"), handler))
  }
}

import PusherCore

/// The routes of an application for Hummingbird, with a stand-in for the parts of Hummingbird that
/// they use.
struct OnHummingbird {
  private let router = Router()

  init(_ api: PusherAPI) {
    router.post("pusher/auth") { request, context in
      let user = try context.requireIdentity()
      let question = try await URLEncodedFormDecoder().decode(
        ChannelQuestion.self, from: request, context: context)
      let text = try answer(question, for: user, by: api)
      return Response(
        status: .ok, headers: [.contentType: "application/json"],
        body: .init(byteBuffer: ByteBuffer(string: text)))
    }

    router.post("pusher/webhooks") { request, _ in
      let body = try await request.body.collect(upTo: 1 << 20)
      try take(
        Array(buffer: body), key: request.headers[.init("X-Pusher-Key")!],
        signature: request.headers[.init("X-Pusher-Signature")!], by: api)
      return Response(status: .ok)
    }
  }

  func call(_ path: String, _ request: Incoming) async throws -> String {
    guard let handler = router.handlers.first(where: { $0.path == path })?.handler else {
      return ""
    }
    return try await handler(Request(request), Context(user: request.user)).body.text
  }
}

private struct FieldName: Hashable {
  static let contentType = FieldName("Content-Type")!
  let name: String
  init?(_ name: String) { self.name = name }
}

private struct Request: Sendable {
  struct Body: Sendable {
    let bytes: [UInt8]
    func collect(upTo limit: Int) async throws -> ByteBuffer { ByteBuffer(bytes: bytes) }
  }

  struct Headers: Sendable {
    let fields: [String: String]
    subscript(name: FieldName) -> String? { fields[name.name] }
  }

  let form: [String: String]
  let body: Body
  let headers: Headers

  init(_ request: Incoming) {
    form = request.form
    body = Body(bytes: request.body)
    headers = Headers(fields: request.headers)
  }
}

private struct Context: Sendable {
  let user: User
  func requireIdentity() throws -> User { user }
}

private struct URLEncodedFormDecoder {
  func decode<Value: Decodable>(
    _ type: Value.Type, from request: Request, context: Context
  ) async throws -> Value {
    try JSONValue(encoding: request.form).decode(type)
  }
}

private struct Response: Sendable {
  enum Status { case ok }
  struct Body: Sendable {
    var text = ""
    init() {}
    init(byteBuffer: ByteBuffer) { text = String(decoding: byteBuffer.bytes, as: UTF8.self) }
  }

  var body: Body
  init(status: Status, headers: [FieldName: String] = [:], body: Body = Body()) {
    self.body = body
  }
}

private final class Router {
  typealias Handler = @Sendable (Request, Context) async throws -> Response

  var handlers: [(path: String, handler: Handler)] = []

  func post(_ path: String, use handler: @escaping Handler) {
    handlers.append((path, handler))
  }
}

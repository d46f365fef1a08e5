internal import PusherCore

/// A call of the console: a question to the server, or an order.
///
/// Questions are GET requests with a query, orders POST requests with a JSON object. A failure is answered with a
/// status from 400 and `{"error":"…"}`.
struct ConsoleCall {
  typealias Answer = (HTTPAnswer) -> Void

  let host: any ConsoleHost
  let target: RequestTarget?
  /// What stands in the path after `/console/`, as it was sent.
  private let name: String
  let method: String
  let body: [UInt8]
  let now: Instant
  /// Whether a past run is shown, of which nothing can be asked.
  private let isRecording: Bool

  init(
    _ request: HTTPRequestReader.Request, host: any ConsoleHost, isRecording: Bool, at now: Instant
  ) {
    (self.host, self.isRecording, self.now) = (host, isRecording, now)
    target = RequestTarget(request.head.target, prefix: Console.path)
    name = RequestTarget.path(of: request.head.target).dropping(prefix: Console.path + "/") ?? ""
    method = request.head.method
    body = request.body
  }

  /// The calls, each with its methods.
  static let calls: [(name: String, methods: [String])] = [
    ("events", ["GET"]), ("channels", ["GET"]), ("channel", ["GET"]), ("connections", ["GET"]),
    ("faults", ["GET", "POST"]), ("disconnect", ["POST"]), ("terminate", ["POST"]),
    ("trigger", ["POST"]), ("webhook", ["POST"]), ("sign", ["POST"]), ("check", ["POST"]),
  ]

  func perform(_ answer: @escaping Answer) {
    do throws(HTTPAnswer) {
      guard let call = Self.calls.first(where: { $0.name.isSame(as: name) }) else {
        throw .failure(404, "the console has no such call")
      }
      guard call.methods.contains(method) else {
        let refusal = HTTPAnswer.refusal(method, allow: call.methods.joined(separator: ", "))
        throw refusal.asFailure
      }
      guard target != nil else {
        throw .failure(400, "the query is not percent-encoded UTF-8")
      }
      try performKnown(answer)
    } catch {
      answer(error)
    }
  }

  /// Performs a call that exists with this method.
  private func performKnown(_ answer: @escaping Answer) throws(HTTPAnswer) {
    if name.isSame(as: "events") {
      throw .failure(
        503, "\(ConsoleFeed.readerLimit) readers look on already, or the recording is gone")
    }
    guard !isRecording else {
      throw .failure(409, "a past run is shown; nothing can be asked of it")
    }
    switch (method, name) {
    case ("GET", "channels"): try channels(answer)
    case ("GET", "channel"): try channel(answer)
    case ("GET", "connections"): try connections(answer)
    case ("GET", "faults"): answer(stagedFaults)
    case ("POST", "faults"): answer(try stageFaults())
    case ("POST", "disconnect"): try disconnect(answer)
    case ("POST", "terminate"): answer(try terminate())
    case ("POST", "trigger"): try trigger(answer)
    case ("POST", "webhook"): try sendWebhook(answer)
    case ("POST", "sign"): answer(try signed())
    case ("POST", "check"): answer(try checked())
    default: throw .failure(404, "the console has no such call")
    }
  }

  // MARK: What a call names

  /// The members of an order.
  func order() throws(HTTPAnswer) -> JSONValue {
    guard let text = String(validating: body, as: UTF8.self) else {
      throw .failure(400, "the body is not UTF-8")
    }
    guard let value = try? JSONParser.parse(text), case .object = value else {
      throw .failure(400, "the body is not a JSON object")
    }
    return value
  }

  /// The app of a question.
  func askedHub() throws(HTTPAnswer) -> Hub { try hub(target?["app"]) }

  func hub(_ id: String?) throws(HTTPAnswer) -> Hub {
    guard let id else { throw .failure(400, "the call names no app") }
    guard let hub = host.applications.hub(id: id) else {
      throw .failure(404, "no app has the id '\(id)'")
    }
    return hub
  }

  /// A text of an order that it needs.
  func text(_ name: String, in order: JSONValue) throws(HTTPAnswer) -> String {
    guard let text = order[name]?.text else { throw .failure(400, "the order has no \(name)") }
    return text
  }
}

extension HTTPAnswer {
  /// A failure of a call, as JSON.
  static func failure(_ status: Int, _ reason: String) -> HTTPAnswer {
    .json(["error": .string(reason)], status: status)
  }

  /// A refusal of one line of text as the failure of a call.
  var asFailure: HTTPAnswer {
    var failure = HTTPAnswer.json(["error": .string(body)], status: status, allow: allow)
    failure.headers = headers
    return failure
  }

  /// A call that was done.
  static let done = HTTPAnswer.json([:])
}

internal import PusherCore

/// A call of the console: a question to the server, or an order.
///
/// Questions are GET requests with a query, orders POST requests with a JSON object. A failure is answered with a
/// status from 400 and `{"error":"…"}`.
struct ConsoleCall {
  typealias Answer = (HTTPAnswer) -> Void

  let host: any ConsoleHost
  let target: RequestTarget?
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
    method = request.head.method
    body = request.body
  }

  func perform(_ answer: @escaping Answer) {
    do throws(HTTPAnswer) {
      guard let target, let segments = target.segments, segments.count == 1 else {
        throw .failure(404, "the console has no such call")
      }
      try perform(segments[0], answer)
    } catch {
      answer(error)
    }
  }

  private func perform(_ name: String, _ answer: @escaping Answer) throws(HTTPAnswer) {
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
    case (_, "events"):
      throw method == "GET"
        ? .failure(
          503, "\(ConsoleFeed.readerLimit) readers look on already, or the recording is gone")
        : .refusal(method, allow: "GET")
    case (_, "channels"), (_, "channel"), (_, "connections"): throw .refusal(method, allow: "GET")
    case (_, "faults"): throw .refusal(method, allow: "GET, POST")
    case (_, "disconnect"), (_, "terminate"), (_, "trigger"), (_, "webhook"), (_, "sign"),
      (_, "check"):
      throw .refusal(method, allow: "POST")
    default: throw .failure(404, "the console has no such call")
    }
  }

  // MARK: What a call names

  /// The members of an order.
  func order() throws(HTTPAnswer) -> JSONValue {
    let text = try HTTPAnswer.text(ofBody: body)
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

  /// A call that was done.
  static let done = HTTPAnswer.json([:])
}

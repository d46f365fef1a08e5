internal import PusherCore
internal import PusherServer

/// A call of the console: a question or an order.
///
/// Questions are GET requests with a query, orders are POST requests with a JSON object. A failed
/// call gets a status from 400 and `{"error":"…"}`.
struct ConsoleCall: ServerCall {
  let host: any ConsoleHost
  let target: RequestTarget?
  /// Path after `/console/`, as sent.
  private let name: String
  let method: String
  let body: [UInt8]
  var now: Instant
  private var step = Step.beginning
  /// A page of a past run answers no questions.
  private let isRecording: Bool

  init(
    _ request: HTTPRequestReader.Request, host: any ConsoleHost, isRecording: Bool, at now: Instant
  ) {
    (self.host, self.isRecording, self.now) = (host, isRecording, now)
    target = RequestTarget(request.head.target)
    name = RequestTarget.path(of: request.head.target).dropping(prefix: Console.path + "/") ?? ""
    method = request.head.method
    body = request.body
  }

  static let calls: [(name: String, methods: [String])] = [
    ("events", ["GET"]), ("channels", ["GET"]), ("channel", ["GET"]), ("connections", ["GET"]),
    ("faults", ["GET", "POST"]), ("disconnect", ["POST"]), ("terminate", ["POST"]),
    ("trigger", ["POST"]), ("webhook", ["POST"]), ("sign", ["POST"]), ("check", ["POST"]),
    ("snippets", ["GET"]),
  ]

  enum Step {
    case beginning
    /// The answer shows a part of the names.
    case names(Hub, ListPart)
    case summaries(Hub, total: Int)
    case details(Hub, channel: String)
    case event(APICall)
  }

  mutating func begin() -> CallProgress {
    do throws(HTTPAnswer) {
      guard let call = Self.calls.first(where: { $0.name.isSame(as: name) }) else {
        throw .failure(404, "the console has no such call")
      }
      guard call.methods.contains(method) else {
        let refusal = HTTPAnswer.refusal(method, allow: call.methods.joined(separator: ", "))
        throw refusal.asFailure
      }
      guard target != nil else { throw .failure(400, "the query is not percent-encoded UTF-8") }
      return try perform()
    } catch { return failed(error) }
  }

  func done(_ answer: HTTPAnswer) -> CallProgress { .answer(answer.closed) }
  func failed(_ failure: HTTPAnswer) -> CallProgress { .answer(failure.closed) }

  // MARK: Steps

  mutating func ask(_ hub: Hub, _ question: ClusterQuestion, _ step: Step) -> CallProgress {
    self.step = step
    return ask(hub, question, at: now)
  }

  mutating func take(_ answer: ClusterAnswer, at now: Instant) -> CallProgress {
    self.now = now
    switch (step, answer) {
    case (.names(let hub, let part), .channels(let names)):
      guard let names else { return failed(.unavailableToConsole) }
      return list(names, part, hub)
    case (.summaries(let hub, let total), .facts(let facts)):
      guard let facts else { return failed(.unavailableToConsole) }
      return done(summaries(facts, total, hub))
    case (.details(let hub, let channel), .facts(let facts)):
      guard let facts else { return failed(.unavailableToConsole) }
      return done(details(facts.first ?? ChannelFacts(name: channel), hub))
    case (.event(var call), _):
      let progress = call.take(answer, at: now)
      return sent(call, progress)
    default: preconditionFailure("the answer does not match the question")
    }
  }

  /// No call of the console pauses.
  mutating func proceed(at now: Instant) -> CallProgress { failed(.unavailableToConsole) }

  mutating func sent(_ call: APICall, _ progress: CallProgress) -> CallProgress {
    step = .event(call)
    guard case .answer(let answer) = progress else { return progress }
    return done(answer.status < 300 ? .done : .failure(answer.status, answer.body))
  }

  private mutating func perform() throws(HTTPAnswer) -> CallProgress {
    if name.isSame(as: "events") {
      throw .failure(
        503, "\(ServerFeed.readerLimit) readers are already connected, or the recording is gone")
    }
    guard !isRecording else {
      throw .failure(409, "the console shows a past run, which answers no calls")
    }
    switch (method, name) {
    case ("GET", "channels"): return try channels()
    case ("GET", "channel"): return try channel()
    case ("GET", "connections"): return done(try connections())
    case ("GET", "faults"): return done(stagedFaults)
    case ("POST", "faults"): return done(try stageFaults())
    case ("GET", "snippets"): return done(try snippets())
    case ("POST", "disconnect"): return done(try disconnect())
    case ("POST", "terminate"): return done(try terminate())
    case ("POST", "trigger"): return try trigger()
    case ("POST", "webhook"): return done(try sendWebhook())
    case ("POST", "sign"): return done(try signed())
    case ("POST", "check"): return done(try checked())
    default: throw .failure(404, "the console has no such call")
    }
  }

  // MARK: Parameters

  func order() throws(HTTPAnswer) -> JSONValue {
    guard let text = String(validating: body, as: UTF8.self) else {
      throw .failure(400, "the body is not UTF-8")
    }
    guard let value = try? JSONParser.parse(text), case .object = value else {
      throw .failure(400, "the body is not a JSON object")
    }
    return value
  }

  func askedHub() throws(HTTPAnswer) -> Hub { try hub(target?["app"]) }

  func hub(_ id: String?) throws(HTTPAnswer) -> Hub {
    guard let id else { throw .failure(400, "the call names no app") }
    guard let hub = host.applications.hub(id: id) else {
      throw .failure(404, "no app has the id '\(id)'")
    }
    return hub
  }

  func text(_ name: String, in order: JSONValue) throws(HTTPAnswer) -> String {
    guard let text = order[name]?.text else { throw .failure(400, "the body has no \(name)") }
    return text
  }
}

extension HTTPAnswer {
  static func failure(_ status: Int, _ reason: String) -> HTTPAnswer {
    .json(["error": .string(reason)], status: status)
  }

  var asFailure: HTTPAnswer {
    var failure = HTTPAnswer.json(["error": .string(body)], status: status, allow: allow)
    failure.headers = headers
    return failure
  }

  static let done = HTTPAnswer.json([:])
  static let unavailableToConsole = failure(503, "the server cannot reach its other nodes")

  /// The answer, never cached and never sniffed as another type.
  var closed: HTTPAnswer {
    var answer = self
    answer.headers.append("Cache-Control", "no-store")
    answer.headers.append("X-Content-Type-Options", "nosniff")
    return answer
  }
}

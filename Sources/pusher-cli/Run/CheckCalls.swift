internal import PusherCore

/// The calls of the HTTP API for the stages of `check`.
struct CheckCalls {
  let access: APIAccess
  private let client: APIClient
  private let loop: EventLoop

  init(_ access: APIAccess, on loop: EventLoop) {
    (self.access, self.client, self.loop) = (access, access.client, loop)
  }

  private struct Answer {
    var status: Int
    var body: String
    /// Difference of the clocks, in words; `nil` if it is small or unknown.
    var skew: String?
  }

  func listChannels() throws(CheckFailure) -> String {
    let call = APIRequest.channels(appID: access.appID)
    let answer = try answer(to: call, "HTTP 200 for a signed GET to \(access.connection.host)")
    let clock = answer.skew.map { "; \($0)" } ?? ""
    return "HTTP \(answer.status), the signature is right\(clock)"
  }

  func publish(
    _ event: CheckEvent, encryptedWith key: EncryptionMasterKey?
  ) throws(CheckFailure) {
    let expected = "HTTP 200 for an event to \(access.connection.host)"
    let call: APIRequest
    do {
      call = try TriggerRequest(name: CheckEvent.name, channels: [event.channel], data: event.data)
        .encrypted(with: key).request(appID: access.appID)
    } catch {
      throw CheckFailure(expected: expected, came: "\(error)", cause: .settings)
    }
    _ = try answer(to: call, expected)
  }

  /// Returns whether the app behind the HTTP API has a subscriber on the channel; `nil` if the
  /// answer does not say so.
  func isOccupied(_ channel: String) -> Bool? {
    let call = APIRequest.channel(channel, appID: access.appID)
    guard let answer = try? answer(to: call, ""), let body = try? JSONParser.parse(answer.body)
    else { return nil }
    return body["occupied"]?.bool
  }

  private func answer(
    to call: APIRequest, _ expected: String
  ) throws(CheckFailure) -> Answer {
    let (outcome, head): (APIAnswer, HTTPResponseHead?)
    do {
      let calls = try access.calls(on: loop)
      (outcome, head) = try calls.answer(
        to: client.request(call), of: client, on: loop, run: loop.run)
      calls.close()
    } catch {
      throw CheckFailure(expected: expected, came: "\(error)", cause: Cause(starting: error))
    }
    let skew = head.flatMap(Self.skew)
    switch outcome {
    case .missing(let failure): throw problem(failure, expected)
    case .accepted(let body): return Answer(status: head?.status ?? 0, body: body, skew: skew)
    case .refused(let status, let reason, let refusal):
      var advice = ["check that app id \(access.appID) and the secret belong to this key"]
      if refusal != .signature || !client.prefix.isEmpty {
        advice = [Hints.advice(refusal, of: client)]
      }
      if let skew { advice.insert("set the clock: \(skew)", at: 0) }
      throw CheckFailure(
        expected: expected, came: Hints.told(status, reason), cause: .notAllowed, advice: advice)
    case .rejected(let status, let reason), .unavailable(let status, let reason),
      .unexpected(let status, let reason):
      throw CheckFailure(
        expected: expected,
        came: Hints.told(status, reason)
          + Hints.apiHint(
            status: status, reason, access.connection, isFound: look(Hints.problem(status: status))),
        cause: Cause(httpStatus: status))
    }
  }

  private func problem(_ failure: HTTPExchange.Failure, _ expected: String) -> CheckFailure {
    var problem = CheckFailure(
      expected: expected,
      came: Hints.explained(failure, access.connection, isFound: look(Hints.problem(failure))),
      cause: Cause(failure))
    switch failure {
    case .transport(let error): problem.note(ConnectionLoss(error))
    case .http(.foreign(.tls)): problem.isMismatch = true
    case .http, .timeout: break
    }
    return problem
  }

  private func look(_ problem: NetworkProblem?) -> Bool {
    SecondLook(access.connection).find(problem, on: loop, run: loop.run)
  }

  /// Compares our clock with the server's; ignores less than 2 s, because `Date` has whole seconds.
  private static func skew(_ head: HTTPResponseHead) -> String? {
    let now = SystemClock.wall()
    guard let date = head.headers["Date"], let theirs = HTTPDate.parse(date, now: now) else {
      return nil
    }
    let seconds = theirs.secondsSince1970 - now.secondsSince1970
    guard seconds.magnitude >= 2 else { return nil }
    return "this machine's clock is \(seconds.magnitude) s "
      + "\(seconds > 0 ? "behind" : "ahead of") the server's"
  }
}

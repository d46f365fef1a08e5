internal import PusherCore

/// Asks the HTTP API for the occupied channels at an interval, and reports failures.
final class ChannelLister {
  enum Event {
    case list([ChannelSearch.Listed])
    /// No list will come; the user has seen the error.
    case refusal(Cause)
  }

  private let access: APIAccess
  private let client: () -> APIClient
  private let interval: Duration
  /// Beginning of the wanted names; empty for all channels.
  private let prefix: String
  private let loop: EventLoop
  private let calls: APIConnection
  private let diagnostics: Diagnostics
  private var timer: LoopTimer?
  private var asksForCounts = true
  private var isAsking = false
  private var isConnected = false
  private var isOver = false
  private var isFailing = false
  private(set) var hasList = false
  /// Called before each request.
  var onQuestion: (() -> Void)?
  var onEvent: ((Event) -> Void)?

  /// - Parameter client: Evaluated for each request; by default the client of `access`.
  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ access: APIAccess, client: (() -> APIClient)? = nil, prefix: String = "",
    every interval: Duration, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws(TLSError) {
    (self.access, self.client) = (access, client ?? { access.client })
    (self.interval, self.prefix) = (interval, prefix)
    (self.loop, self.diagnostics) = (loop, diagnostics)
    calls = try access.calls(on: loop)
  }

  /// Asks from now on; returns true at the first call.
  @discardableResult func connected() -> Bool {
    isConnected = true
    guard timer == nil else { return false }
    let timer = LoopTimer(deadline: loop.now) { [unowned self] in ask() }
    self.timer = timer
    loop.add(timer)
    return true
  }

  /// Asks no more until the next connection.
  func disconnected() { isConnected = false }

  func stop() {
    isOver = true
    calls.close()
    if let timer { loop.remove(timer) }
  }

  private func ask() {
    timer?.deadline = loop.now.advanced(by: interval)
    guard isConnected, !isAsking, !isOver else { return }
    onQuestion?()
    let call = APIRequest.channels(
      appID: access.appID, filter: prefix.isEmpty ? nil : prefix,
      info: asksForCounts ? ["subscription_count"] : [])
    isAsking = true
    let client = client()
    do throws(HTTPError) {
      try calls.send(client.request(call), of: client) { [unowned self] answer, _ in
        isAsking = false
        if !isOver { take(answer, to: client) }
      }
    } catch {
      isAsking = false
      fail("\(error)", cause: .settings)
    }
  }

  private func take(_ answer: APIAnswer, to client: APIClient) {
    switch answer {
    case .missing(let failure): fail("\(failure)", cause: Cause(failure))
    case .accepted(let body): take(body)
    case .rejected where asksForCounts:
      asksForCounts = false
      ask()
    case .unavailable(let status, let reason): fail(Hints.told(status, reason), cause: nil)
    case .refused(let status, let reason, let refusal):
      fail(
        Hints.told(status, reason) + Hints.refused(refusal, of: client),
        cause: Cause(httpStatus: status))
    case .rejected(let status, let reason), .unexpected(let status, let reason):
      // The WebSocket works: the scheme is right, and a look at the port cannot help.
      let hint =
        hasList ? "" : Hints.apiHint(status: status, reason, access.connection, isFound: false)
      fail(Hints.told(status, reason) + hint, cause: Cause(httpStatus: status))
    }
  }

  private func take(_ body: String) {
    guard let answer = try? JSONParser.parse(body), let list = ChannelSearch.list(answer) else {
      return fail("the answer does not follow the HTTP API", cause: .brokenProtocol)
    }
    if isFailing { diagnostics.warning("listing channels works again") }
    (isFailing, hasList) = (false, true)
    onEvent?(.list(list))
  }

  /// - Parameter cause: The cause of a final failure; `nil` if retrying may help.
  private func fail(_ reason: String, cause: Cause?) {
    guard let cause, !hasList, cause != .overloaded, cause != .unreachable else {
      if !isFailing {
        diagnostics.warning("cannot list channels: \(reason); retrying")
      }
      isFailing = true
      return
    }
    diagnostics.error("cannot list channels: \(reason)")
    onEvent?(.refusal(cause))
  }
}

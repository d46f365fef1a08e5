internal import PusherCore

/// Polls the HTTP API for occupied channels and subscribes to the matching ones, for `--discover`.
final class Discovery {
  enum Event {
    /// The channels of the first list are being joined.
    case firstList
    /// No list will come; the user has seen the error.
    case refusal(Cause)
    case left(String)
  }

  private let settings: DiscoverySettings
  private let loop: EventLoop
  private let http: HTTPConnection
  private let channels: ChannelMembership
  private let diagnostics: Diagnostics
  private var search: ChannelSearch
  private var timer: LoopTimer?
  /// Channels that were confirmed before the pending request.
  private var confirmed = NameSet()
  private var asksForCounts = true
  private var isAsking = false
  private var isConnected = false
  private var isOver = false
  private var isFailing = false
  private var hasSaidLimit = false
  private(set) var hasList = false
  var onEvent: ((Event) -> Void)?

  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ settings: DiscoverySettings, loop: EventLoop, channels: ChannelMembership,
    diagnostics: Diagnostics
  ) throws(TLSError) {
    (self.settings, self.loop) = (settings, loop)
    (self.channels, self.diagnostics) = (channels, diagnostics)
    search = ChannelSearch(patterns: settings.patterns, limit: settings.limit)
    http = try settings.access.httpConnection(loop: loop)
  }

  func connected() {
    isConnected = true
    guard timer == nil else { return }
    diagnostics.info(
      "looking for channels that match \(settings.patterns.joined(separator: ", ")) every "
        + "\(settings.interval.inWords); events before the subscription are missed")
    let timer = LoopTimer(deadline: loop.now) { [unowned self] in ask() }
    self.timer = timer
    loop.add(timer)
  }

  func disconnected() {
    isConnected = false
    confirmed.removeAll()
  }

  /// Handles the server's count of subscribers.
  func counted(_ count: Int, on channel: String) {
    guard count <= 1, channels.state(of: channel) == .subscribed else { return }
    leaveIfOurs(channel)
  }

  var joined: NameSet { NameSet(search.joined.sorted) }

  func stop() {
    isOver = true
    http.close()
    if let timer { loop.remove(timer) }
  }

  /// Stops and leaves the subscribed channels, which belong to another app or server.
  func retire() {
    stop()
    for channel in search.joined.sorted { channels.leave(channel) }
  }

  private func leaveIfOurs(_ channel: String) {
    if search.vacated(channel) { leave(channel) }
  }

  private func leave(_ channel: String) {
    diagnostics.info("left \(channel): no other subscribers")
    channels.leave(channel)
    onEvent?(.left(channel))
  }

  // MARK: Asking

  private func ask() {
    timer?.deadline = loop.now.advanced(by: settings.interval)
    guard isConnected, !isAsking, !isOver else { return }
    confirmed = NameSet(search.joined.sorted.filter { channels.state(of: $0) == .subscribed })
    let access = settings.access
    let call = APIRequest.channels(
      appID: access.appID, prefix: access.connection.path,
      filter: search.prefix.isEmpty ? nil : search.prefix,
      info: asksForCounts ? ["subscription_count"] : [])
    isAsking = true
    do throws(HTTPError) {
      try http.send(access.request(call)) { [unowned self] result, _ in
        isAsking = false
        if !isOver { answered(result) }
      }
    } catch {
      isAsking = false
      fail("\(error)", cause: .settings)
    }
  }

  private func answered(_ result: Result<HTTPExchange.Response, HTTPExchange.Failure>) {
    let connection = settings.access.connection
    switch result {
    case .failure(let failure): fail("\(failure)", cause: Cause(failure))
    case .success(let response):
      switch APIAnswer(status: response.head.status, body: response.body) {
      case .accepted(let body): take(body)
      case .rejected where asksForCounts:
        asksForCounts = false
        ask()
      case .unavailable(let status, let reason): fail(Hints.told(status, reason), cause: nil)
      case .refused(let status, let reason):
        let key = Diagnostics.shortened(key: connection.key)
        fail(
          "\(Hints.told(status, reason)) (do the secret and the app id belong to key \(key)?)",
          cause: Cause(httpStatus: status))
      case .rejected(let status, let reason), .unexpected(let status, let reason):
        fail(
          // The WebSocket works: the scheme is right, and a look at the port cannot help.
          "\(Hints.told(status, reason))"
            + (hasList ? "" : Hints.apiHint(status: status, connection, isFound: false)),
          cause: Cause(httpStatus: status))
      }
    }
  }

  private func take(_ body: String) {
    guard let answer = try? JSONParser.parse(body), let list = ChannelSearch.list(answer) else {
      return fail("the answer does not follow the HTTP API", cause: .brokenProtocol)
    }
    if isFailing { diagnostics.warning("listing channels works again") }
    isFailing = false
    join(list)
    guard !hasList else { return }
    hasList = true
    onEvent?(.firstList)
  }

  private func join(_ list: [ChannelSearch.Listed]) {
    let counted = list.map { channel in
      let roster =
        confirmed.contains(channel.name) ? channels.feed.session.roster(of: channel.name) : nil
      return ChannelSearch.Listed(name: channel.name, count: channel.count ?? roster?.count)
    }
    let changes = search.take(counted) { standing(of: $0) }
    for channel in changes.leave { leave(channel) }
    for channel in changes.join { channels.join(channel) }
    guard changes.leftOut > 0, !hasSaidLimit else { return }
    hasSaidLimit = true
    diagnostics.warning(
      "skipped \(Quantities.words(changes.leftOut, of: "matching channel")): the limit is "
        + "\(settings.limit) (--max-channels N)")
  }

  private func standing(of channel: String) -> ChannelSearch.Standing {
    if channels.isTyped(channel) { return .typed }
    return switch channels.state(of: channel) {
    case .subscribed where confirmed.contains(channel): .confirmed
    case .refused: .refused
    case .subscribed, .expected, .unwanted: .open
    }
  }

  /// - Parameter cause: The cause of a final failure; `nil` if retrying may help.
  private func fail(_ reason: String, cause: Cause?) {
    guard let cause, !hasList, cause != .overloaded, cause != .unreachable else {
      if !isFailing {
        diagnostics.warning("cannot list channels: \(Redaction.redact(reason)); retrying")
      }
      isFailing = true
      return
    }
    diagnostics.error("cannot list channels: \(Redaction.redact(reason))")
    onEvent?(.refusal(cause))
  }
}

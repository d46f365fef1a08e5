internal import PusherCore

/// Decides which of the occupied channels that match patterns to subscribe to, and which to leave.
///
/// A pure machine. It leaves a channel if this run is the channel's only subscriber. The number of
/// subscribers is known for presence channels, and for all channels if the server reports it.
struct ChannelSearch {
  struct Listed: Equatable {
    var name: String
    /// Number of subscribers, this run included; `nil` if the server does not report it.
    var count: Int?
  }

  struct Changes: Equatable {
    var join: [String] = []
    var leave: [String] = []
    /// Number of matching channels that are skipped because of the limit.
    var leftOut = 0
  }

  /// State of this run's subscription to a channel.
  enum Standing {
    /// Named on the command line, so not managed here.
    case typed
    /// Confirmed before the request for the list, so the count includes this run.
    case confirmed
    case refused
    /// Not subscribed, or only since the request for the list.
    case open
  }

  private let patterns: [Glob]
  private let limit: Int
  /// Common prefix of all matching names.
  let prefix: String
  /// Channels that this search has subscribed.
  private(set) var joined = NameSet()

  init(patterns: [String], limit: Int) {
    self.patterns = patterns.map(Glob.init)
    self.limit = limit
    prefix = Self.prefix(of: patterns)
  }

  mutating func take(_ list: [Listed], standing: (String) -> Standing) -> Changes {
    var changes = Changes()
    var occupied = NameSet()
    for channel in list
    where Self.isChannel(channel.name) && patterns.contains(where: { $0.matches(channel.name) }) {
      let standing = standing(channel.name)
      if standing == .typed { continue }
      let isOurs = joined.contains(channel.name)
      if isOurs, standing == .confirmed, let count = channel.count, count <= 1 { continue }
      if occupied.insert(channel.name), !isOurs { changes.join.append(channel.name) }
    }
    changes.leave = joined.sorted.filter {
      !occupied.contains($0) && [.confirmed, .refused].contains(standing($0))
    }
    for name in changes.leave { joined.remove(name) }
    changes.join.sort()
    let room = max(limit - joined.count, 0)
    changes.leftOut = max(changes.join.count - room, 0)
    changes.join.removeLast(changes.leftOut)
    for name in changes.join { joined.insert(name) }
    return changes
  }

  /// Forgets a channel that has no other subscribers; returns true if the caller must leave it.
  mutating func vacated(_ channel: String) -> Bool { joined.remove(channel) }

  /// Returns false for an invalid name of the server's list, and for the channel of a user.
  static func isChannel(_ name: String) -> Bool {
    ChannelName.problem(in: name) == nil && !name.begins(with: "#")
  }

  static func words(leftOut count: Int, of thing: String, limit: Int) -> String {
    "skipped \(Quantities.words(count, of: thing)): the limit is \(limit) (--max-channels N)"
  }

  private static func prefix(of patterns: [String]) -> String {
    let beginnings = patterns.map { Array($0.utf8.prefix { !"*?[\\".utf8.contains($0) }) }
    guard var shared = beginnings.first else { return "" }
    for beginning in beginnings.dropFirst() {
      shared = Array(zip(shared, beginning).prefix { $0 == $1 }.map(\.0))
    }
    return String(decoding: shared, as: UTF8.self)
  }

  /// Reads the list from an answer of the HTTP API; `nil` for another shape.
  ///
  /// Servers in PHP write an empty object as an empty array.
  static func list(_ answer: JSONValue) -> [Listed]? {
    if answer["channels"]?.elements?.isEmpty == true { return [] }
    return answer["channels"]?.members?.map { channel in
      let count = channel.value["subscription_count"] ?? channel.value["user_count"]
      return Listed(name: channel.name, count: count?.integer)
    }
  }
}

/// Asks the HTTP API for the occupied channels at an interval, and reports failures.
final class ChannelLister {
  private let access: APIAccess
  private let secret: CredentialRefresh?
  private let interval: Duration
  /// Beginning of the wanted names; empty for all channels.
  private let prefix: String
  private let loop: EventLoop
  private let calls: HTTPConnection
  private let channels: ChannelMembership
  /// Channels that were subscribed before the pending request.
  private(set) var confirmed = NameSet()
  private let diagnostics: Diagnostics
  private var timer: LoopTimer?
  private var asksForCounts = true
  private var isAsking = false
  private var isConnected = false
  private var isOver = false
  private var isFailing = false
  private(set) var hasList = false
  var onList: (([ChannelSearch.Listed]) -> Void)?
  /// Called if no list will come; the user has seen the error.
  var onRefusal: ((Cause) -> Void)?

  /// - Parameter secret: Supplies the secret of each request, if it can change.
  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ access: APIAccess, secret: CredentialRefresh?, prefix: String = "",
    every interval: Duration, channels: ChannelMembership, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws(TLSError) {
    (self.access, self.secret, self.channels) = (access, secret, channels)
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
  func disconnected() {
    isConnected = false
    confirmed.removeAll()
  }

  /// Returns the state of a channel for ``ChannelSearch``; never ``ChannelSearch/Standing/typed``.
  func standing(of channel: String) -> ChannelSearch.Standing {
    switch channels.state(of: channel) {
    case .subscribed where confirmed.contains(channel): .confirmed
    case .refused: .refused
    case .subscribed, .expected, .unwanted: .open
    }
  }

  func stop() {
    isOver = true
    calls.close()
    if let timer { loop.remove(timer) }
  }

  private func ask() {
    timer?.deadline = loop.now.advanced(by: interval)
    guard isConnected, !isAsking, !isOver else { return }
    confirmed = NameSet(channels.names.filter { channels.state(of: $0) == .subscribed })
    let call = APIRequest.channels(
      appID: access.appID, filter: prefix.isEmpty ? nil : prefix,
      info: asksForCounts ? ["subscription_count"] : [])
    isAsking = true
    let client = access.client(secret?.secret)
    do throws(HTTPError) {
      try calls.send(client.request(call), of: client) { [unowned self] outcome in
        isAsking = false
        if isOver { return }
        switch outcome {
        case .success((let answer, _)): take(answer, to: client)
        case .failure(let failure): fail("\(failure)", cause: Cause(failure))
        }
      }
    } catch {
      isAsking = false
      fail("\(error)", cause: .settings)
    }
  }

  private func take(_ answer: APIAnswer, to client: APIClient) {
    switch answer {
    case .accepted(let body): take(body)
    case .rejected where asksForCounts:
      asksForCounts = false
      ask()
    case .unavailable: fail(answer.words, cause: nil)
    case .rejected where hasList, .unexpected where hasList:
      fail(answer.words, cause: Cause(httpStatus: answer.status))
    case .refused, .rejected, .unexpected:
      // The WebSocket works: the scheme is right, and a look at the port cannot help.
      fail(
        answer.words + Hints.hint(answer, of: client, access.connection),
        cause: Cause(httpStatus: answer.status))
    }
  }

  private func take(_ body: String) {
    guard let answer = try? JSONParser.parse(body), let list = ChannelSearch.list(answer) else {
      return fail("the answer does not follow the HTTP API", cause: .brokenProtocol)
    }
    if isFailing { diagnostics.warning("listing channels works again") }
    (isFailing, hasList) = (false, true)
    onList?(list)
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
    onRefusal?(cause)
  }
}

/// Polls the HTTP API for occupied channels and subscribes to those that match a pattern.
final class Discovery {
  private let settings: DiscoverySettings
  let lister: ChannelLister
  private let channels: ChannelMembership
  private let diagnostics: Diagnostics
  private var search: ChannelSearch
  private var hasSaidLimit = false
  private var hasJoined = false
  /// Called once the channels of the first list are being joined.
  var onFirstList: (() -> Void)?
  var onLeaving: ((String) -> Void)?

  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ settings: DiscoverySettings, refresh: CredentialRefresh?, loop: EventLoop,
    channels: ChannelMembership, diagnostics: Diagnostics
  ) throws(TLSError) {
    (self.settings, self.channels, self.diagnostics) = (settings, channels, diagnostics)
    search = ChannelSearch(patterns: settings.patterns, limit: settings.limit)
    lister = try ChannelLister(
      settings.access, secret: refresh, prefix: search.prefix, every: settings.interval,
      channels: channels, loop: loop, diagnostics: diagnostics)
    lister.onList = { [unowned self] list in
      join(list)
      guard !hasJoined else { return }
      hasJoined = true
      onFirstList?()
    }
  }

  func connected() {
    guard lister.connected() else { return }
    diagnostics.info(
      "looking for channels that match \(settings.patterns.joined(separator: ", ")) every "
        + "\(settings.interval.inWords); events before the subscription are missed")
  }

  /// Handles the server's count of subscribers.
  func counted(_ count: Int, on channel: String) {
    guard count <= 1, channels.state(of: channel) == .subscribed else { return }
    if search.vacated(channel) { leave(channel) }
  }

  private func leave(_ channel: String) {
    diagnostics.info("left \(channel): no other subscribers")
    channels.leave(channel)
    onLeaving?(channel)
  }

  private func join(_ list: [ChannelSearch.Listed]) {
    let counted = list.map { channel in
      let roster =
        lister.confirmed.contains(channel.name)
        ? channels.feed.session.roster(of: channel.name) : nil
      return ChannelSearch.Listed(name: channel.name, count: channel.count ?? roster?.count)
    }
    let changes = search.take(counted) {
      channels.isTyped($0) ? .typed : lister.standing(of: $0)
    }
    for channel in changes.leave { leave(channel) }
    for channel in changes.join { channels.join(channel) }
    guard changes.leftOut > 0, !hasSaidLimit else { return }
    hasSaidLimit = true
    diagnostics.warning(
      ChannelSearch.words(leftOut: changes.leftOut, of: "matching channel", limit: settings.limit))
  }
}

/// The channels of a run of `subscribe`, and the state of each.
final class ChannelMembership {
  /// State of a channel on the present connection.
  enum State {
    case unwanted
    /// The server has not answered yet.
    case expected
    case subscribed, refused
  }

  let feed: ChannelsFeed
  /// Channels of the command line; their refusal can end the run.
  private let typed: NameSet
  private var wanted: NameSet
  /// Channels without an answer on this connection.
  private var missing: NameSet
  /// Channels of the command line that were never subscribed in this run.
  private var neverSubscribed: NameSet
  private var refused = NameSet()

  init(_ typed: [String], feed: ChannelsFeed) {
    self.feed = feed
    self.typed = NameSet(typed)
    wanted = self.typed
    missing = wanted
    neverSubscribed = wanted
  }

  var count: Int { wanted.count }
  var names: [String] { wanted.sorted }
  var areAllSettled: Bool { missing.isEmpty }
  var isAnyAllowed: Bool { refused.count < wanted.count }
  func isTyped(_ channel: String) -> Bool { typed.contains(channel) }
  var isComplete: Bool { neverSubscribed.isEmpty }
  func never(of channels: [String]) -> [String] { channels.filter(neverSubscribed.contains) }

  func state(of channel: String) -> State {
    guard wanted.contains(channel) else { return .unwanted }
    if refused.contains(channel) { return .refused }
    return missing.contains(channel) ? .expected : .subscribed
  }

  func counts(isConnected: Bool) -> (subscribed: Int, expected: Int, refused: Int) {
    // Answers of an earlier connection do not count.
    guard isConnected else { return (0, count, 0) }
    let subscribed = max(count - missing.count - refused.count, 0)
    return (subscribed, missing.count, refused.count)
  }

  // MARK: Requests

  /// Subscribes to a channel; asks again for a refused one.
  func join(_ channel: String) {
    if refused.contains(channel) { leave(channel) }
    guard wanted.insert(channel) else { return }
    missing.insert(channel)
    feed.subscribe(channel)
  }

  func leave(_ channel: String) {
    guard wanted.remove(channel) else { return }
    missing.remove(channel)
    neverSubscribed.remove(channel)
    refused.remove(channel)
    feed.unsubscribe(channel)
  }

  // MARK: Answers of the server

  /// Resets the states: nothing is subscribed on a new connection.
  func connected() {
    missing = wanted
    refused.removeAll()
  }

  func subscribed(_ channel: String) {
    guard wanted.contains(channel) else { return }
    neverSubscribed.remove(channel)
    refused.remove(channel)
    missing.remove(channel)
  }

  func refuse(_ channel: String) {
    guard wanted.contains(channel) else { return }
    refused.insert(channel)
  }

  /// Stops waiting for a refused channel.
  func giveUp(_ channel: String) {
    neverSubscribed.remove(channel)
    missing.remove(channel)
  }
}

internal import PusherCore

/// Polls the HTTP API for occupied channels and subscribes to those that match a pattern.
final class Discovery {
  enum Event {
    /// The channels of the first list are being joined.
    case firstList
    /// No list will come; the user has seen the error.
    case refusal(Cause)
    case left(String)
  }

  private let settings: DiscoverySettings
  private let lister: ChannelLister
  private let channels: ChannelMembership
  private let diagnostics: Diagnostics
  private var search: ChannelSearch
  /// Channels that were confirmed before the pending request.
  private var confirmed = NameSet()
  private var hasSaidLimit = false
  private(set) var hasList = false
  var onEvent: ((Event) -> Void)?

  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ settings: DiscoverySettings, refresh: CredentialRefresh?, loop: EventLoop,
    channels: ChannelMembership, diagnostics: Diagnostics
  ) throws(TLSError) {
    (self.settings, self.channels, self.diagnostics) = (settings, channels, diagnostics)
    search = ChannelSearch(patterns: settings.patterns, limit: settings.limit)
    lister = try ChannelLister(
      settings.access,
      client: { settings.access.client(refresh?.secret) }, prefix: search.prefix,
      every: settings.interval, loop: loop,
      diagnostics: diagnostics)
    lister.onQuestion = { [unowned self] in
      confirmed = NameSet(search.joined.sorted.filter { channels.state(of: $0) == .subscribed })
    }
    lister.onEvent = { [unowned self] event in
      switch event {
      case .list(let list): take(list)
      case .refusal(let cause): onEvent?(.refusal(cause))
      }
    }
  }

  func connected() {
    guard lister.connected() else { return }
    diagnostics.info(
      "looking for channels that match \(settings.patterns.joined(separator: ", ")) every "
        + "\(settings.interval.inWords); events before the subscription are missed")
  }

  func disconnected() {
    lister.disconnected()
    confirmed.removeAll()
  }

  /// Handles the server's count of subscribers.
  func counted(_ count: Int, on channel: String) {
    guard count <= 1, channels.state(of: channel) == .subscribed else { return }
    leaveIfOurs(channel)
  }

  func stop() { lister.stop() }

  private func leaveIfOurs(_ channel: String) {
    if search.vacated(channel) { leave(channel) }
  }

  private func leave(_ channel: String) {
    diagnostics.info("left \(channel): no other subscribers")
    channels.leave(channel)
    onEvent?(.left(channel))
  }

  // MARK: The list

  private func take(_ list: [ChannelSearch.Listed]) {
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
      ChannelSearch.words(leftOut: changes.leftOut, of: "matching channel", limit: settings.limit))
  }

  private func standing(of channel: String) -> ChannelSearch.Standing {
    channels.isTyped(channel) ? .typed : channels.standing(of: channel, confirmed: confirmed)
  }
}

extension ChannelMembership {
  /// Returns the state of a channel for ``ChannelSearch``; named channels are not told apart.
  ///
  /// - Parameter confirmed: Channels that were subscribed before the request for the list.
  func standing(of channel: String, confirmed: NameSet) -> ChannelSearch.Standing {
    switch state(of: channel) {
    case .subscribed where confirmed.contains(channel): .confirmed
    case .refused: .refused
    case .subscribed, .expected, .unwanted: .open
    }
  }
}

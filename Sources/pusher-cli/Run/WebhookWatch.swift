internal import PusherCore
internal import PusherServer

/// Turns looks at the occupied channels and news of members into events of webhooks.
///
/// A pure machine, for `webhook send`. It reports each channel and each member in turn: come, gone.
/// It joins each presence channel that a look finds. The members decide whether such a channel is
/// occupied; this program's user is no member. A look decides about every other channel.
struct WebhookWatch {
  struct Changes: Equatable {
    var notices: [WebhookNotice] = []
    /// Of the presence channels.
    var channels = ChannelSearch.Changes()
    /// A channel of the command line whose subscribers the server does not count.
    var uncounted: String?
  }

  private let settings: WatchSettings
  private let typed: NameSet
  private var search: ChannelSearch
  /// Occupied channels, each with the number of the last look that had it.
  private var occupied = NameTable<Int>()
  /// Members of presence channels, without this program's user.
  private var members = NameTable<NameSet>()
  /// Joined channels whose first state is not reported.
  private var silent = NameSet()
  private var looks = 0

  init(_ settings: WatchSettings) {
    self.settings = settings
    typed = NameSet(settings.channels)
    search = ChannelSearch(
      patterns: settings.joinsPresence ? ["presence-*"] : [], limit: settings.channelLimit)
    if !settings.reportsStart { silent = typed }
  }

  var occupiedCount: Int { occupied.count }

  // MARK: Looks

  /// Handles the list of a look that succeeded; a failed look changes nothing.
  ///
  /// - Parameter standing: Returns the state of a joined channel. A channel is only confirmed if it
  ///   was subscribed before the look: only then its count includes this program.
  mutating func take(
    _ list: [ChannelSearch.Listed], standing: (String) -> ChannelSearch.Standing
  ) -> Changes {
    var changes = Changes()
    looks += 1
    let isQuiet = looks == 1 && !settings.reportsStart
    seek(list, standing, &changes)
    if isQuiet { for name in changes.channels.join { silent.insert(name) } }
    for channel in list where ChannelSearch.isChannel(channel.name) {
      if occupied[channel.name] != nil { occupied[channel.name] = looks }
      guard let isOccupied = isOccupied(channel, standing, &changes) else { continue }
      let isSilent = silent.remove(channel.name) || isQuiet
      isOccupied
        ? occupy(channel.name, &changes, isSilent: isSilent) : vacate(channel.name, &changes)
    }
    let gone = occupied.names.filter { occupied[$0] != looks && isUpToList($0, standing) }
    for name in gone.sorted() { vacate(name, &changes) }
    return changes
  }

  /// Decides which presence channels to join, and forgets refused ones that are not listed.
  private mutating func seek(
    _ list: [ChannelSearch.Listed], _ standing: (String) -> ChannelSearch.Standing,
    _ changes: inout Changes
  ) {
    // The members decide about a confirmed channel, whatever the list says.
    let confirmed = search.joined.sorted.filter { standing($0) == .confirmed }
    let names = NameSet(confirmed)
    let known = confirmed.map {
      ChannelSearch.Listed(name: $0, count: (members[$0]?.count ?? 0) + 1)
    }
    let typed = typed
    changes.channels = search.take(known + list.filter { !names.contains($0.name) }) {
      typed.contains($0) ? .typed : standing($0)
    }
  }

  /// Returns whether others are on a listed channel; `nil` if the look does not decide that.
  private func isOccupied(
    _ channel: ChannelSearch.Listed, _ standing: (String) -> ChannelSearch.Standing,
    _ changes: inout Changes
  ) -> Bool? {
    guard isOurs(channel.name) else { return channel.count != 0 }
    switch standing(channel.name) {
    case .refused: return channel.count != 0
    case .confirmed where !isPresence(channel.name):
      if let count = channel.count { return count > 1 }
      changes.uncounted = changes.uncounted ?? channel.name
      return nil
    case .confirmed, .open, .typed: return nil
    }
  }

  /// Returns whether a channel that a look did not list is vacated.
  private func isUpToList(
    _ name: String, _ standing: (String) -> ChannelSearch.Standing
  ) -> Bool {
    !isPresence(name) || !isOurs(name) || standing(name) == .refused
  }

  private func isPresence(_ name: String) -> Bool { ChannelKind(channelName: name) == .presence }
  private func isOurs(_ name: String) -> Bool {
    typed.contains(name) || search.joined.contains(name)
  }

  // MARK: Members

  /// Handles the members of a confirmed presence channel, by user ID; also after a reconnect.
  ///
  /// - Parameter isCut: True if the list omits members, so that a missing member may be there.
  mutating func joined(_ channel: String, members ids: [String], isCut: Bool) -> Changes {
    var changes = Changes()
    guard isPresence(channel), isOurs(channel) else { return changes }
    let isSilent = silent.remove(channel)
    let present = NameSet(ids)
    let former = members[channel]?.sorted ?? []
    for id in former where !isCut && !present.contains(id) { remove(id, from: channel, &changes) }
    for id in ids { add(id, to: channel, &changes) }
    settle(channel, &changes)
    if isSilent { changes.notices = [] }
    return changes
  }

  mutating func memberAdded(_ id: String, to channel: String) -> Changes {
    var changes = Changes()
    if isPresence(channel), isOurs(channel) { add(id, to: channel, &changes) }
    return changes
  }

  mutating func memberRemoved(_ id: String, from channel: String) -> Changes {
    var changes = Changes()
    guard isPresence(channel), isOurs(channel) else { return changes }
    remove(id, from: channel, &changes)
    settle(channel, &changes)
    return changes
  }

  private mutating func add(_ id: String, to channel: String, _ changes: inout Changes) {
    guard !id.isSame(as: settings.userID),
      members[channel]?.count ?? 0 < settings.memberLimit,
      members[channel, default: NameSet()].insert(id)
    else { return }
    occupy(channel, &changes)
    changes.notices.append(WebhookNotice(.memberAdded, channel, userID: id))
  }

  private mutating func remove(_ id: String, from channel: String, _ changes: inout Changes) {
    guard members[channel]?.remove(id) == true else { return }
    changes.notices.append(WebhookNotice(.memberRemoved, channel, userID: id))
  }

  /// Leaves a channel without other members, which this program alone would keep occupied.
  private mutating func settle(_ channel: String, _ changes: inout Changes) {
    guard members[channel]?.isEmpty ?? true else { return }
    vacate(channel, &changes)
    if search.vacated(channel) { changes.channels.leave.append(channel) }
  }

  // MARK: Channels

  private mutating func occupy(
    _ channel: String, _ changes: inout Changes, isSilent: Bool = false
  ) {
    guard occupied[channel] == nil else { return }
    occupied[channel] = looks
    if !isSilent { changes.notices.append(WebhookNotice(.channelOccupied, channel)) }
  }

  private mutating func vacate(_ channel: String, _ changes: inout Changes) {
    for id in members.removeValue(of: channel)?.sorted ?? [] {
      changes.notices.append(WebhookNotice(.memberRemoved, channel, userID: id))
    }
    guard occupied.removeValue(of: channel) != nil else { return }
    changes.notices.append(WebhookNotice(.channelVacated, channel))
  }

  // MARK: Client events

  /// Returns the webhook of a client event; `nil` for any other event.
  ///
  /// The webhook has no `socket_id`, because the protocol does not tell subscribers who sent it.
  func clientEvent(_ event: Envelope, named name: String?) -> WebhookNotice? {
    let name = name ?? event.eventName
    guard name.begins(with: ClientEvent.prefix), let channel = event.channelName, isOurs(channel)
    else { return nil }
    let sender = event.userIDToken.map { JSONString.decode($0) }
    return WebhookNotice(
      .clientEvent, channel, userID: isPresence(channel) ? sender : nil,
      details: [
        .init("event", .string(name)), event.dataText.map { .init("data", .string($0)) },
      ].compactMap(\.self))
  }
}

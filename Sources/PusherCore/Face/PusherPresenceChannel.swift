/// A channel with a list of its members.
///
/// The members are known after the subscription. After a reconnect the server's new list replaces
/// the old one, and the differences are reported as joins and leaves.
public final class PusherPresenceChannel: PusherChannel, @unchecked Sendable {
  private let presence = Locked(Presence())

  struct Handlers {
    var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?
    var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?
  }

  private struct Presence {
    var roster = PresenceRoster()
    var myId: String?
    var handlers = Handlers()
    weak var delegate: (any PusherPresenceChannelDelegate)?
  }

  /// Members in the order in which they joined.
  public var members: [PusherPresenceChannelMember] { presence.withLock { $0.roster }.members }

  /// Number of members.
  public var memberCount: Int { presence.withLock { $0.roster.count } }

  /// Member id of this client; `nil` before the channel is subscribed.
  public var myId: String? { presence.withLock { $0.myId } }

  /// Returns this client's own member; `nil` before the channel is subscribed.
  public func me() -> PusherPresenceChannelMember? {
    presence.withLock { presence in presence.myId.flatMap { presence.roster[$0] } }
  }

  /// Returns the member with this id.
  public func findMember(userId: String) -> PusherPresenceChannelMember? {
    presence.withLock { $0.roster[userId] }
  }

  /// Called when a member joins, on the callback thread.
  public var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? {
    get { presence.withLock { $0.handlers.onMemberAdded } }
    set {
      replaceHandlers { Handlers(onMemberAdded: newValue, onMemberRemoved: $0.onMemberRemoved) }
    }
  }

  /// Called when a member leaves, on the callback thread.
  public var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? {
    get { presence.withLock { $0.handlers.onMemberRemoved } }
    set { replaceHandlers { Handlers(onMemberAdded: $0.onMemberAdded, onMemberRemoved: newValue) } }
  }

  /// Delegate for joins and leaves, in addition to the closures; the reference is weak.
  public weak var delegate: (any PusherPresenceChannelDelegate)? {
    get { presence.withLock { $0.delegate } }
    set { presence.withLock { $0.delegate = newValue } }
  }

  // MARK: For the client

  /// Replaces the closures that `new` has.
  func renew(_ new: Handlers) {
    replaceHandlers {
      Handlers(
        onMemberAdded: new.onMemberAdded ?? $0.onMemberAdded,
        onMemberRemoved: new.onMemberRemoved ?? $0.onMemberRemoved)
    }
  }

  private func replaceHandlers(_ replacement: (Handlers) -> Handlers) {
    let former = presence.withLock { presence in
      defer { presence.handlers = replacement(presence.handlers) }
      return presence.handlers
    }
    // The former closures are released here, outside the lock.
    withExtendedLifetime(former) {}
  }

  func noteMembers(_ roster: PresenceRoster, myId: String?) {
    presence.withLock { presence in
      presence.roster = roster
      presence.myId = myId ?? presence.myId
    }
  }

  func noteAdded(_ member: PusherPresenceChannelMember) {
    let (handler, delegate) = presence.withLock { presence in
      presence.roster.insert(member.userId, member.userInfo)
      return (presence.handlers.onMemberAdded, presence.delegate)
    }
    handler?(member)
    delegate?.presenceChannel(self, memberAdded: member)
  }

  func noteRemoved(_ member: PusherPresenceChannelMember) {
    let (handler, delegate) = presence.withLock { presence in
      _ = presence.roster.remove(member.userId)
      return (presence.handlers.onMemberRemoved, presence.delegate)
    }
    handler?(member)
    delegate?.presenceChannel(self, memberRemoved: member)
  }

  override func end() {
    super.end()
    replaceHandlers { _ in Handlers() }
  }
}

package import PusherCore
internal import PusherServer

extension RedisMember {
  package func take(_ payload: [UInt8], from channel: [UInt8], at now: Instant) {
    self.now = now
    guard let fields = RedisFields.decode(payload), let kind = fields.first else { return }
    // Requests under a former name were sent again, so their answers are ignored.
    if kind == "j" || kind == "s", channel != keys.answers(identity.id) { return }
    switch (kind, fields.count) {
    case ("m", 5): message(fields)
    case ("a", 5): added(fields)
    case ("r", 4): removed(fields[2], from: fields[1], fields[3])
    case ("w", 4):
      tell(.watchers(fields[1], SharedFrame(fields[3]), except: Self.socket(fields[2])))
    // A registering node gets its own message too, and looks for the other nodes.
    case ("n", 2): lookForOthers()
    case ("t", 2): tell(.terminate(userID: fields[1]))
    case ("j", 4...): joined(Array(fields.dropFirst()))
    case ("s", 2...): signedIn(Array(fields.dropFirst()))
    default: break
    }
  }

  private static func socket(_ field: String) -> String? { field.isEmpty ? nil : field }
  func tell(_ message: BusMessage) { outbox.add(.message(message)) }

  private func message(_ fields: [String]) {
    let isEvent = fields[2] != "0"
    let frame = SharedFrame(fields[4], channel: isEvent ? fields[1] : nil)
    let message = BusMessage.channel(fields[1], frame, except: Self.socket(fields[3]))
    outbox.add(
      isEvent
        ? .event(message, channel: fields[1], isFromClient: fields[2] == "2") : .message(message))
  }

  /// Announces a new user, unless the sockets on this node knew the user before Redis was lost.
  private func added(_ fields: [String]) {
    guard let channel = roster.channels[fields[1]] else { return }
    let own = channel.announce(fields[3])
    guard channel.known?.insert(fields[3]) != false else { return }
    tell(.channel(fields[1], SharedFrame(fields[4]), except: Self.socket(fields[2]) ?? own))
  }

  func removed(_ userID: String, from name: String, _ text: String) {
    guard let channel = roster.channels[name], channel.known?.remove(userID) != false else {
      return
    }
    tell(.channel(name, SharedFrame(text), except: nil))
  }

  private func joined(_ fields: [String]) {
    guard let number = Int(fields[0]), let channel = roster.channels[fields[1]] else { return }
    let isFull = fields[2] == "full"
    guard let request = sockets.requests.removeValue(forKey: number) else {
      if !isFull, number < 0 { compare(fields, channel) }
      return
    }
    guard case .join(let wish) = request else { return }
    channel.waiting -= 1
    if isFull {
      outbox.add(.answer(number, .joined(.full(keepsFormer: false))))
      forgetIfEmpty(wish.channel)
      noteCountedOut(wish.channel)
      return
    }
    guard fields.count >= 7 else { return }
    let members = wish.member == nil ? nil : Self.members(fields)
    if !wish.isAgain { channel.add(wish.member) }
    if let member = wish.member, RedisChange(fields[4]) != .none {
      channel.unannounced = (member.userID, wish.socketID)
    }
    // The next message announces this user to sockets that were subscribed before.
    channel.known = channel.known ?? members.map { NameSet($0.members.map(\.userID)) }
    noteJoined(
      wish.channel, as: wish.member, isFirst: RedisChange(fields[3]), isNew: RedisChange(fields[4]))
    let joined = Joined(
      memberID: wish.member.flatMap { members?[$0.userID]?.id }, members: members,
      cached: setup.naming.isCache(wish.channel) ? CachedEvents.Event(stored: fields[6]) : nil)
    outbox.add(.answer(number, .joined(.joined(joined))))
    noteCount(wish.channel, Int(fields[5]) ?? 0)
  }

  private static func members(_ fields: [String]) -> MemberList {
    let pairs = fields.dropFirst(7)
    return MemberList(
      stored: stride(from: pairs.startIndex, to: pairs.endIndex - 1, by: 2).map {
        (fields[$0], fields[$0 + 1])
      })
  }

  private func signedIn(_ fields: [String]) {
    guard let number = Int(fields[0]), let request = sockets.requests.removeValue(forKey: number),
      case .signIn = request
    else { return }
    outbox.add(.answer(number, .signedIn(NameSet(fields.dropFirst()))))
  }

  /// Announces how the members differ from those that the sockets on this node know.
  private func compare(_ fields: [String], _ channel: RedisChannel) {
    guard fields.count >= 7, let known = channel.known else { return }
    let name = fields[1]
    let present = Self.members(fields)
    for member in present.members where !known.contains(member.userID) {
      channel.known?.insert(member.userID)
      let text = setup.text.memberAdded(channel: name, member: member)
      tell(.channel(name, SharedFrame(text), except: channel.announce(member.userID)))
    }
    for userID in known.sorted where present[userID] == nil {
      removed(userID, from: name, setup.text.memberRemoved(channel: name, userID: .string(userID)))
    }
  }
}

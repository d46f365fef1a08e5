package import PusherCore
internal import PusherServer

extension RedisMember {
  package func take(_ payload: [UInt8], from channel: [UInt8], at now: Instant) {
    self.now = now
    guard let fields = RedisFields.decode(payload), let kind = fields.first else { return }
    // Requests under a former name were sent again, so their answers are ignored.
    if ["j", "s", "e"].contains(kind), channel != keys.answers(identity.id) { return }
    switch (kind, fields.count) {
    case ("m", 5): message(fields)
    case ("a", 6): added(fields)
    case ("r", 4): removed(fields)
    case ("w", 4):
      tell(.watchers(fields[1], SharedFrame(fields[3]), except: Self.socket(fields[2])))
    // A registering node gets its own message too, and looks for the other nodes.
    case ("n", 2): lookForOthers()
    case ("t", 2): tell(.terminate(userID: fields[1]))
    case ("j", 4...): joined(Array(fields.dropFirst()))
    case ("s", 2...): signedIn(Array(fields.dropFirst()))
    case ("e", 2): Int(fields[1]).map(noteAnswered)
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

  /// Announces a new user, unless the list has the user already.
  private func added(_ fields: [String]) {
    guard let channel = roster.channels[fields[1]], channel.isFollowed,
      let number = Int(fields[4]), let member = Member(stored: fields[5])
    else { return }
    if channel.pages != nil { return channel.note(fields[3], number, member) }
    guard channel.view?.add(member, number) == true else { return }
    let frame = arrival(of: member, on: fields[1])
    tell(.channel(fields[1], frame, except: Self.socket(fields[2])))
  }

  private func removed(_ fields: [String]) {
    guard let channel = roster.channels[fields[1]], channel.isFollowed,
      let number = Int(fields[3])
    else { return }
    if channel.pages != nil { return channel.note(fields[2], number, nil) }
    guard let member = channel.view?.remove(fields[2], number) else { return }
    tell(.channel(fields[1], departure(of: member, from: fields[1]), except: nil))
  }

  /// Sends what waited for an answer.
  private func noteAnswered(_ number: Int) {
    pace.noteAnswered(number)
    advance()
    enterNext()
  }

  private func joined(_ fields: [String]) {
    guard let number = Int(fields[0]) else { return }
    defer { noteAnswered(number) }
    guard let channel = roster.channels[fields[1]],
      let request = sockets.requests.removeValue(forKey: number), case .join(let wish) = request
    else { return }
    channel.waiting -= 1
    guard fields.count == 7 else {
      outbox.add(.answer(number, .joined(.full(keepsFormer: false))))
      forgetIfEmpty(wish.channel)
      return noteCountedOut(wish.channel)
    }
    if !wish.isAgain { channel.add(wish.member) }
    noteJoined(
      wish.channel, as: wish.member, isFirst: RedisChange(fields[3]), isNew: RedisChange(fields[4]))
    if wish.member != nil, channel.lacksList {
      channel.unlisted.append(.init(number: number, request: wish, event: fields[6]))
    } else {
      answer(number, wish, channel, fields[6])
    }
    noteCount(wish.channel, Int(fields[5]) ?? 0)
  }

  private func signedIn(_ fields: [String]) {
    guard let number = Int(fields[0]) else { return }
    defer { noteAnswered(number) }
    guard let request = sockets.requests.removeValue(forKey: number), case .signIn = request
    else { return }
    outbox.add(.answer(number, .signedIn(NameSet(fields.dropFirst()))))
  }
}

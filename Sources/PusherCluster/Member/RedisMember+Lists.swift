internal import PusherCore
internal import PusherServer

/// Channels whose members are being read, a few at a time, and those that wait.
struct ListReadings {
  private static let limit = 8

  private var running = 0
  private var waiting = Fifo<String>()

  mutating func add(_ name: String) { waiting.append(name) }
  mutating func noteEnd() { running -= 1 }

  /// Returns the next channel to read; `nil` while enough are being read.
  mutating func next() -> String? {
    guard running < Self.limit, let name = waiting.popFirst() else { return nil }
    running += 1
    return name
  }
}

// A node reads the members of a presence channel once, from the replies to its commands. From then
// on the messages about changes keep its list right.
extension RedisMember {
  /// Reads the members of a channel, unless that goes on already.
  func readList(_ name: String, _ channel: RedisChannel) {
    guard channel.pages == nil else { return }
    channel.pages = MemberPages()
    readings.add(name)
    continueReading()
  }

  /// Reads the lists again that sockets know or wait for.
  func readKnownLists() {
    for name in roster.channels.names {
      guard let channel = roster.channels[name] else { continue }
      if channel.view != nil || !channel.unlisted.isEmpty { readList(name, channel) }
    }
  }

  private func continueReading() {
    while let name = readings.next() {
      if let channel = roster.channels[name], channel.pages != nil {
        askPage("0", name, channel)
      } else {
        readings.noteEnd()
      }
    }
  }

  private func askPage(_ cursor: String, _ name: String, _ channel: RedisChannel) {
    command(
      "HSCAN", keys.members(name), cursor, "COUNT", HashPage.size, for: .page(name, channel))
  }

  func tookPage(
    _ result: RedisResult, of name: String, _ channel: RedisChannel, since registration: Int
  ) {
    guard isCurrent(registration) else { return }
    guard let page = HashPage(result) else {
      if case .success(let reply) = result {
        refuse(RedisRefusal.words("HSCAN", error: words(of: reply)), since: registration)
      }
      return
    }
    // The channel may have lost its sockets, and may have new ones.
    if channel.pages != nil, roster.channels[name] === channel {
      channel.pages?.take(page)
      if let next = page.next { return askPage(next, name, channel) }
      complete(name, channel)
    }
    readings.noteEnd()
    continueReading()
  }

  /// Tells the sockets how the list differs from what they know, and answers those that wait.
  private func complete(_ name: String, _ channel: RedisChannel) {
    guard let new = channel.pages?.view else { return }
    if let known = channel.view?.list {
      for member in new.list.members where known[member.userID] == nil {
        tell(.channel(name, arrival(of: member, on: name), except: nil))
      }
      for member in known.members where new.list[member.userID] == nil {
        tell(.channel(name, departure(of: member, from: name), except: nil))
      }
    }
    (channel.view, channel.pages) = (new, nil)
    for join in channel.unlisted.takeAll() {
      answer(join.number, join.request, channel, join.event)
    }
    forgetIfEmpty(name)
  }

  func arrival(of member: Member, on name: String) -> SharedFrame {
    SharedFrame(setup.text.memberAdded(channel: name, member: member))
  }

  func departure(of member: Member, from name: String) -> SharedFrame {
    SharedFrame(setup.text.memberRemoved(channel: name, userID: member.id))
  }

  /// Answers a counted join.
  func answer(_ number: Int, _ request: JoinRequest, _ channel: RedisChannel, _ event: String) {
    let members = request.member == nil ? nil : channel.view?.list ?? MemberList()
    let isCache = setup.naming.isCache(request.channel)
    let joined = Joined(
      memberID: request.member.flatMap { members?[$0.userID]?.id }, members: members,
      cached: isCache ? CachedEvents.Event(stored: event) : nil)
    outbox.add(.answer(number, .joined(.joined(joined))))
  }
}

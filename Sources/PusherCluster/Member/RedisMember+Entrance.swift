internal import PusherCore
internal import PusherServer

/// Connections of one user, or of anonymous subscribers, on one channel.
struct RosterEntry: Sendable {
  let member: Member?
  let connections: Int
}

/// Connections on one channel that enter Redis in one step.
struct EntrySlice: Sendable {
  let name: String
  /// All with a member, or one without.
  let entries: ArraySlice<RosterEntry>
  let remains: FormerEntries
}

/// The entries of a registration that wait until few answers are due.
///
/// They are as they were when it began. Connections that end meanwhile are counted out after it.
struct Entrance {
  enum Step {
    case slice(EntrySlice)
    case user(String, connections: Int, FormerEntries)
  }

  var steps = Fifo<Step>()
  var isOpen = false
}

extension RedisMember {
  /// Enters everything that this node has under its new name, a little at a time, so that the lease
  /// is renewed in between.
  func enter(_ remains: FormerEntries) {
    identity.hasBegun = true
    entrance.isOpen = true
    for name in roster.channels.names {
      guard let channel = roster.channels[name] else { continue }
      channel.noteFollowed()
      let members = channel.members.elements.map {
        RosterEntry(member: $0.member, connections: $0.connections)
      }
      if !members.isEmpty {
        add(members, of: name, remains)
      } else if channel.count > 0 {
        add([RosterEntry(member: nil, connections: channel.count)], of: name, remains)
      } else {
        // Only joins wait. They find the channel followed, and do not list it.
        send("SADD", keys.channels(of: identity.id), name)
      }
    }
    var connections = roster.users
    // Waiting sign-ins enter with their own requests.
    for case .signIn(let user, _) in sockets.requests.values {
      connections[user.id, default: 0] -= 1
    }
    for userID in connections.names {
      guard let count = connections[userID], count > 0 else { continue }
      entrance.steps.append(.user(userID, connections: count, remains))
    }
    enterDepartures(remains)
    enterNext()
  }

  /// Enters sockets that left while Redis could not be reached.
  ///
  /// If Redis was emptied, they count as connected until all nodes are back, so that the last
  /// departure is known. Otherwise they are counted out with the former entries.
  private func enterDepartures(_ remains: FormerEntries) {
    guard remains == .lost else {
      (departures.subscriptions, departures.users) = ([], [])
      return
    }
    for departure in departures.subscriptions {
      add([RosterEntry(member: departure.member, connections: 1)], of: departure.channel, remains)
    }
    for userID in departures.users {
      entrance.steps.append(.user(userID, connections: 1, remains))
    }
  }

  /// Maximum number of entries in one step.
  private static let sliceLength = 50
  /// Size of a step's members in bytes, from which no more follow.
  private static let sliceSize = 32 << 10

  private func add(_ entries: [RosterEntry], of name: String, _ remains: FormerEntries) {
    for start in stride(from: 0, to: entries.count, by: Self.sliceLength) {
      let slice = entries[start..<min(start + Self.sliceLength, entries.count)]
      entrance.steps.append(.slice(EntrySlice(name: name, entries: slice, remains: remains)))
    }
  }

  /// Enters more while few answers are due, and tells the others when all have come.
  func enterNext() {
    guard entrance.isOpen else { return }
    while pace.hasRoom, let step = entrance.steps.popFirst() {
      switch step {
      case .slice(let slice): enter(slice)
      case .user(let userID, let connections, let remains):
        signIn(
          SignedInUser(member: Member(userID: userID), watchlist: []), socketID: "",
          request: calls.nextNumber(), connections: connections, isNew: remains != .lost)
      }
    }
    guard entrance.steps.isEmpty, pace.isIdle else { return }
    entrance.isOpen = false
    send("SADD", keys.enrolled, identity.id)
    command(
      "PUBLISH", keys.usersBus, RedisFields.encode(["n", identity.id]),
      for: .registration(.entered))
  }

  private func enter(_ slice: EntrySlice) {
    var words: [String] = []
    var bytes = 0
    var rest = slice.entries
    while bytes < Self.sliceSize, let entry = rest.popFirst() {
      words.append("\(entry.connections)")
      guard let member = entry.member else { continue }
      let stored = member.stored
      words += [member.userID, stored]
      bytes += stored.utf8.count
    }
    if !rest.isEmpty {
      entrance.steps.prepend(
        .slice(EntrySlice(name: slice.name, entries: rest, remains: slice.remains)))
    }
    let sent = EntrySlice(
      name: slice.name, entries: slice.entries[..<rest.startIndex], remains: slice.remains)
    let number = calls.nextNumber()
    pace.noteSent(number, bytes: bytes)
    send("SADD", keys.channels(of: identity.id), slice.name)
    let (before, after) = countText(slice.name)
    call(
      "enter", keys.channel(slice.name) + [keys.nodes],
      [
        "node": identity.id, "answers": keys.answers(identity.id), "request": number,
        "bus": keys.bus(slice.name), "channel": slice.name,
        "isMember": slice.entries.first?.member == nil ? "0" : "1",
        "before": before, "after": after, "leaseEnd": identity.leaseEnd,
      ], and: words, for: .registration(.rejoined(sent)))
  }

  func rejoined(_ slice: EntrySlice, _ result: RedisResult, since registration: Int) {
    check(result, to: "the join of \(slice.name)", since: registration)
    guard case .success(.array(let values)) = result, values.count >= 2 else { return }
    if values[1] == .integer(1) { return noticeLoss(since: registration) }
    // Arrivals are reported only if the departures were.
    guard slice.remains == .cleanedUp else { return }
    noteJoined(slice.name, as: nil, isFirst: RedisChange(values[0]), isNew: .none)
    for (entry, change) in zip(slice.entries, values[2...]) {
      noteJoined(slice.name, as: entry.member, isFirst: .none, isNew: RedisChange(change))
    }
  }
}

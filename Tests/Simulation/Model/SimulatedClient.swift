import PusherCore
import PusherServer

/// A client of a simulated server; it records its received messages.
final class SimulatedClient: HubSession {
  let socketID: String
  let server: Int
  var subscriptions = NameSet()
  var user: SignedInUser?
  /// Its user on each presence channel that it wants.
  var users: [String: String] = [:]
  private(set) var confirmed: Set<String> = []
  private(set) var members: [String: Set<String>] = [:]
  private(set) var events: [String: [String]] = [:]
  private(set) var isOpen = true
  /// The first impossible message.
  private(set) var complaint: String?

  init(_ socketID: String, server: Int) {
    (self.socketID, self.server) = (socketID, server)
  }

  func leave(_ channel: String) {
    subscriptions.remove(channel)
    (users[channel], members[channel]) = (nil, nil)
    confirmed.remove(channel)
  }

  func end() { isOpen = false }

  func send(_ text: String, at now: Instant) { take(text) }

  func deliver(_ frame: SharedFrame, at now: Instant) -> Bool {
    guard isOpen else { return false }
    take(frame.text)
    return true
  }

  func refuse(_ channel: String, _ refusal: ProtocolRefusal, isSubscribed: Bool, at now: Instant) {
    if !isSubscribed { leave(channel) }
  }

  func terminate(at now: Instant) { end() }

  private func take(_ text: String) {
    guard isOpen, let message = try? JSONParser.parse(text), let name = message["event"]?.text
    else { return }
    let channel = message["channel"]?.text ?? ""
    let data = message["data"]?.text
    switch name {
    case "e": note(event: data ?? "", channel)
    case "pusher_internal:subscription_succeeded":
      confirmed.insert(channel)
      let ids = Self.json(data)["presence"]?["ids"]?.elements?.compactMap(\.text)
      if let ids { members[channel] = Set(ids) }
    case "pusher_internal:member_added": member(Self.json(data), channel, isThere: true)
    case "pusher_internal:member_removed": member(Self.json(data), channel, isThere: false)
    default: break
    }
  }

  private static func json(_ text: String?) -> JSONValue {
    text.flatMap { try? JSONParser.parse($0) } ?? .null
  }

  private func note(event: String, _ channel: String) {
    // Each subscription to a cache channel begins with the last event.
    let isReplay = channel.hasPrefix("cache-")
    if !isReplay, events[channel]?.contains(event) == true {
      complain("event \(event) twice on \(channel)")
    }
    events[channel, default: []].append(event)
  }

  private func member(_ data: JSONValue, _ channel: String, isThere: Bool) {
    // The answer to its own subscription has its members.
    guard confirmed.contains(channel), let id = data["user_id"]?.text else { return }
    let wasThere = members[channel]?.contains(id) == true
    if wasThere == isThere {
      complain("\(channel): told \(isThere ? "twice of" : "that \(id) left, not there:") \(id)")
    }
    if isThere { members[channel, default: []].insert(id) } else { members[channel]?.remove(id) }
  }

  private func complain(_ what: String) { complaint = complaint ?? "\(socketID): \(what)" }
}

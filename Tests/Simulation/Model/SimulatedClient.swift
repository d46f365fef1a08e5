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
  let speaksV2: Bool
  /// Place on each channel; kept over connections.
  private(set) var places: [String: StreamPlace] = [:]
  /// Channels whose missed events the client has asked for.
  private var resuming: Set<String> = []
  /// The first impossible message.
  private(set) var complaint: String?

  /// - Parameter former: A client of V2 that lost its connection; its places and events continue.
  init(
    _ socketID: String, server: Int, speaksV2: Bool = false, after former: SimulatedClient? = nil
  ) {
    (self.socketID, self.server, self.speaksV2) = (socketID, server, speaksV2)
    if let former { (places, events) = (former.places, former.events) }
    resuming = Set(places.keys)
  }

  func leave(_ channel: String) {
    subscriptions.remove(channel)
    (users[channel], members[channel]) = (nil, nil)
    confirmed.remove(channel)
    (places[channel], resuming) = (nil, resuming.subtracting([channel]))
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
  func reconnect(because reason: String, at now: Instant) { end() }

  private func take(_ text: String) {
    guard isOpen, let message = try? JSONParser.parse(text), let name = message["event"]?.text
    else { return }
    let channel = message["channel"]?.text ?? ""
    let data = message["data"]?.text
    if let serial = message["serial"]?.integer, let id = message["stream_id"]?.text {
      note(StreamPlace(id: id, serial: serial), channel, isEvent: name == "e")
    }
    switch name.hasPrefix("sockudo") ? "pusher" + name.dropFirst("sockudo".count) : name {
    case "pusher:resume_failed":
      let channel = Self.json(data)["channel"]?.text ?? ""
      places[channel] = heads[channel]
      resuming.remove(channel)
    case "pusher:resume_success":
      for item in Self.json(data)["recovered"]?.elements ?? [] {
        guard let channel = item["channel"]?.text, let place = item["position"] else { continue }
        resuming.remove(channel)
        if place["serial"]?.integer != places[channel]?.serial {
          complain(
            "resumed \(channel) to \(place), but is at \(String(describing: places[channel]))")
        }
      }
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

  /// The head of each channel at its confirmation.
  private var heads: [String: StreamPlace] = [:]

  private func note(_ place: StreamPlace, _ channel: String, isEvent: Bool) {
    guard isEvent else {
      heads[channel] = place
      if !resuming.contains(channel) { places[channel] = place }
      return
    }
    if let former = places[channel], former.id == place.id, former.serial + 1 != place.serial {
      complain("\(place) after \(former) on \(channel)")
    }
    places[channel] = place
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
    // A client that subscribes again as another user first gets the former answer, without that
    // user. It may then hear that the user has left an emptied Redis.
    if wasThere == isThere, isThere || id != users[channel] {
      complain("\(channel): told \(isThere ? "twice of" : "that \(id) left, not there:") \(id)")
    }
    if isThere { members[channel, default: []].insert(id) } else { members[channel]?.remove(id) }
  }

  private func complain(_ what: String) { complaint = complaint ?? "\(socketID): \(what)" }
}

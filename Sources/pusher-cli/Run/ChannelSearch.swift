internal import PusherCore

/// Decides which occupied channels to subscribe to and which to leave, for patterns.
///
/// A pure machine. A channel counts as vacated if this run is its only subscriber. The run knows
/// that for presence channels, and if the server reports subscription counts.
struct ChannelSearch {
  struct Listed: Equatable {
    var name: String
    /// Number of subscribers, this run included; `nil` if the server does not report it.
    var count: Int?
  }

  struct Changes: Equatable {
    var join: [String] = []
    var leave: [String] = []
    /// Number of matching channels above the limit.
    var leftOut = 0
  }

  /// State of a channel, apart from the list.
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
    for channel in list where isSearched(channel.name) {
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

  /// Handles a channel without other subscribers; returns whether to leave it.
  mutating func vacated(_ channel: String) -> Bool { joined.remove(channel) }

  private func isSearched(_ name: String) -> Bool {
    Self.isChannel(name) && patterns.contains { $0.matches(name) }
  }

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

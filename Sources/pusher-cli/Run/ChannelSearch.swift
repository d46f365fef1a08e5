internal import PusherCore

/// Decides which channels to join and to leave when the list of occupied channels comes, with `--discover`.
///
/// It is pure. A channel that only this run keeps occupied counts as vacated; that is known where the server counts
/// subscriptions or the channel has members.
struct ChannelSearch {
  /// An occupied channel as the HTTP API lists it.
  struct Listed: Equatable {
    var name: String
    /// How many are subscribed, this run included; `nil` where the server does not tell.
    var count: Int?
  }

  /// What to do.
  struct Changes: Equatable {
    var join: [String] = []
    var leave: [String] = []
    /// How many match and are left out, because as many are joined as may.
    var leftOut = 0
  }

  /// What is known of a channel beside the list.
  enum Standing {
    /// The command line names it, so that it is none of this search.
    case typed
    /// The server had confirmed it before the list was asked for, so that this run is counted.
    case confirmed
    case refused
    /// Not joined, or only since the list was asked for.
    case open
  }

  private let patterns: [Glob]
  private let limit: Int
  /// The beginning that all names have which match.
  let prefix: String
  /// Those that this search has joined.
  private(set) var joined = NameSet()

  init(patterns: [String], limit: Int) {
    self.patterns = patterns.map(Glob.init)
    self.limit = limit
    prefix = Self.prefix(of: patterns)
  }

  /// Takes a list.
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

  /// Nobody else is left in a channel; answers whether it is one of this search, to be left.
  mutating func vacated(_ channel: String) -> Bool { joined.remove(channel) }

  private func isSearched(_ name: String) -> Bool {
    // A server chooses the names, and some may be none.
    ChannelName.problem(in: name) == nil && !name.begins(with: "#")
      && patterns.contains { $0.matches(name) }
  }

  /// The literal beginning that all patterns share.
  private static func prefix(of patterns: [String]) -> String {
    let beginnings = patterns.map { Array($0.utf8.prefix { !"*?[\\".utf8.contains($0) }) }
    guard var shared = beginnings.first else { return "" }
    for beginning in beginnings.dropFirst() {
      shared = Array(zip(shared, beginning).prefix { $0 == $1 }.map(\.0))
    }
    return String(decoding: shared, as: UTF8.self)
  }

  /// The list in an answer of the HTTP API; `nil` for an answer of another shape.
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

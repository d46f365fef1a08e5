import PusherCore
import PusherServer
import TestSupport
import Testing

@testable import pusher_cli

/// A machine of `webhook send` with the state of its subscriptions, and what it reported last.
private struct Watcher {
  private var watch: WebhookWatch
  var standings: [String: ChannelSearch.Standing] = [:]
  private(set) var last = WebhookWatch.Changes()

  init(
    channels: [String] = [], joinsPresence: Bool = true, channelLimit: Int = 10,
    memberLimit: Int = 10, reportsStart: Bool = true
  ) {
    watch = WebhookWatch(
      WatchSettings(
        userID: "own", channels: channels, joinsPresence: joinsPresence,
        channelLimit: channelLimit, memberLimit: memberLimit, reportsStart: reportsStart))
  }

  /// Returns a machine that has found presence-a, and joined these members there.
  static func joined(_ ids: String...) -> Watcher {
    var watcher = Watcher()
    _ = watcher.look("presence-a")
    watcher.standings["presence-a"] = .confirmed
    _ = watcher.watch.joined("presence-a", members: ids, isCut: false)
    return watcher
  }

  /// Handles a look and returns the reports.
  mutating func look(_ names: String...) -> String {
    look(at: names.map { ChannelSearch.Listed(name: $0, count: nil) })
  }

  mutating func look(at list: [ChannelSearch.Listed]) -> String {
    let standings = standings
    last = watch.take(list) { standings[$0] ?? .open }
    return told
  }

  mutating func join(_ channel: String, _ ids: String..., isCut: Bool = false) -> String {
    standings[channel] = .confirmed
    last = watch.joined(channel, members: ids, isCut: isCut)
    return told
  }

  mutating func add(_ id: String, _ channel: String = "presence-a") -> String {
    last = watch.memberAdded(id, to: channel)
    return told
  }

  mutating func remove(_ id: String, _ channel: String = "presence-a") -> String {
    last = watch.memberRemoved(id, from: channel)
    return told
  }

  func event(_ message: String) -> WebhookNotice? {
    var notice: WebhookNotice?
    Envelope.with(Array(message.utf8)) { notice = watch.clientEvent($0, named: nil) }
    return notice
  }

  /// The reports, each as `+` or `-` with the channel, and with `:ID` for a member.
  private var told: String {
    last.notices.map { notice in
      let sign = [.channelOccupied, .memberAdded].contains(notice.kind) ? "+" : "-"
      return sign + notice.channel + (notice.userID.map { ":\($0)" } ?? "")
    }.joined(separator: " ")
  }
}

struct `What webhook send makes of looks and members` {
  // MARK: Looks

  @Test func `a channel is occupied when a look finds it, and vacated when a later one does not`() {
    var watcher = Watcher()
    #expect(watcher.look("news", "a") == "+news +a")
    #expect(watcher.look("a", "news") == "")
    #expect(watcher.look("news", "b") == "+b -a")
    #expect(watcher.look() == "-b -news")
    #expect(watcher.look("news") == "+news")
  }

  @Test func `a channel that is listed twice, without subscribers or without a name is not told`() {
    var watcher = Watcher()
    let list = [
      ChannelSearch.Listed(name: "a", count: 2), .init(name: "a", count: 2),
      .init(name: "empty", count: 0), .init(name: "#server-to-user-1", count: 1),
      .init(name: "two words", count: 1), .init(name: "", count: 1),
    ]
    #expect(watcher.look(at: list) == "+a")
    #expect(watcher.look(at: [.init(name: "a", count: 0)]) == "-a")
  }

  @Test func `what is there at the start can be left out, until it changes`() {
    var watcher = Watcher(reportsStart: false)
    #expect(watcher.look("news", "presence-a") == "")
    #expect(watcher.last.channels.join == ["presence-a"])
    #expect(watcher.join("presence-a", "own", "1") == "")
    #expect(watcher.add("2") == "+presence-a:2")
    #expect(watcher.look("presence-a", "late") == "+late -news")
    #expect(watcher.remove("1") == "-presence-a:1")
  }

  // MARK: Presence channels

  @Test func `a presence channel that is listed is joined, and its members decide`() {
    var watcher = Watcher()
    #expect(watcher.look("presence-a") == "")
    #expect(watcher.last.channels.join == ["presence-a"])
    #expect(
      watcher.join("presence-a", "1", "own", "2") == "+presence-a +presence-a:1 +presence-a:2")
    #expect(watcher.look("presence-a") == "")
    #expect(watcher.remove("1") == "-presence-a:1")
    #expect(watcher.last.channels.leave == [])
    #expect(watcher.remove("2") == "-presence-a:2 -presence-a")
    #expect(watcher.last.channels.leave == ["presence-a"])
  }

  @Test func `this program's own user is no member, whoever else has the id`() {
    var watcher = Watcher()
    _ = watcher.look("presence-a")
    #expect(watcher.join("presence-a", "own") == "")
    #expect(watcher.last.channels.leave == ["presence-a"])
    _ = watcher.look("presence-a")
    _ = watcher.join("presence-a", "own", "1")
    #expect(watcher.add("own") == "")
    #expect(watcher.remove("own") == "")
    #expect(watcher.last == .init())
  }

  @Test func `members are told once, and only of channels that are joined`() {
    var watcher = Watcher.joined("own", "1")
    #expect(watcher.add("1") == "")
    #expect(watcher.remove("2") == "")
    #expect(watcher.add("1", "presence-b") == "")
    #expect(watcher.add("1", "private-a") == "")
    _ = watcher.remove("1")
    // The channel is left, and a late message of the server counts no more.
    #expect(watcher.add("3") == "")
  }

  @Test func `a reconnect reports the differences of the member list, and nothing twice`() {
    var watcher = Watcher.joined("own", "1", "2")
    #expect(watcher.join("presence-a", "own", "2", "3") == "-presence-a:1 +presence-a:3")
    #expect(watcher.join("presence-a", "3", "2", "own") == "")
    #expect(watcher.join("presence-a", "own", "4") == "-presence-a:2 -presence-a:3 +presence-a:4")
    #expect(watcher.join("presence-a", "own") == "-presence-a:4 -presence-a")
    #expect(watcher.last.channels.leave == ["presence-a"])
  }

  @Test func `until the members are known, a look decides neither way`() {
    var watcher = Watcher.joined("own", "1")
    watcher.standings["presence-a"] = .open
    #expect(watcher.look() == "")
    #expect(watcher.look("presence-a") == "")
    #expect(watcher.last.channels.join == [] && watcher.last.channels.leave == [])
    #expect(watcher.join("presence-a", "own", "1") == "")
  }

  @Test func `members on a connection prove more than a list without their channel`() {
    var watcher = Watcher.joined("own", "1")
    #expect(watcher.look() == "")
    #expect(watcher.last.channels.leave == [])
  }

  @Test func `a look decides about a presence channel that was refused`() {
    var watcher = Watcher()
    _ = watcher.look("presence-a")
    watcher.standings["presence-a"] = .refused
    #expect(watcher.look("presence-a") == "+presence-a")
    #expect(watcher.look("presence-a") == "")
    #expect(watcher.look() == "-presence-a")
    #expect(watcher.last.channels.leave == ["presence-a"])
  }

  @Test func `members of a channel that is refused after a reconnect leave with the channel`() {
    var watcher = Watcher.joined("own", "2", "1")
    watcher.standings["presence-a"] = .refused
    #expect(watcher.look("presence-a") == "")
    #expect(watcher.look() == "-presence-a:1 -presence-a:2 -presence-a")
  }

  @Test func `channels above the limit are not joined, and only a look tells of them`() {
    var watcher = Watcher(channelLimit: 1)
    #expect(watcher.look("presence-b", "presence-a") == "+presence-b")
    #expect(watcher.last.channels.join == ["presence-a"])
    #expect(watcher.last.channels.leftOut == 1)
    #expect(watcher.look("presence-a") == "-presence-b")
  }

  @Test func `without a wish for members, no channel is joined`() {
    var watcher = Watcher(joinsPresence: false)
    #expect(watcher.look("presence-a") == "+presence-a")
    #expect(watcher.last.channels.join == [] && watcher.last.channels.leftOut == 0)
    #expect(watcher.look() == "-presence-a")
  }

  @Test func `members above the limit neither come nor go`() {
    var watcher = Watcher(memberLimit: 2)
    _ = watcher.look("presence-a")
    #expect(watcher.join("presence-a", "own", "1", "2", "3").split(separator: " ").count == 3)
    #expect(watcher.add("4") == "")
    #expect(watcher.remove("3") == "")
    #expect(watcher.remove("2") == "-presence-a:2")
    #expect(watcher.add("4") == "+presence-a:4")
  }

  @Test func `a member that a cut list omits has not left`() {
    var watcher = Watcher.joined("own", "1", "2")
    #expect(watcher.join("presence-a", "own", "2", "3", isCut: true) == "+presence-a:3")
  }

  // MARK: Channels of the command line

  @Test func `this program does not count itself on a channel that it was told to join`() {
    var watcher = Watcher(channels: ["private-a"])
    watcher.standings["private-a"] = .confirmed
    func listed(_ count: Int?) -> [ChannelSearch.Listed] {
      [ChannelSearch.Listed(name: "private-a", count: count)]
    }
    #expect(watcher.look(at: listed(1)) == "")
    #expect(watcher.look(at: listed(2)) == "+private-a")
    #expect(watcher.look(at: listed(3)) == "")
    #expect(watcher.look(at: listed(1)) == "-private-a")
    #expect(watcher.last == .init(notices: [WebhookNotice(.channelVacated, "private-a")]))
  }

  @Test func `a count from before the subscription says nothing`() {
    var watcher = Watcher(channels: ["private-a"])
    let list = [ChannelSearch.Listed(name: "private-a", count: 1)]
    #expect(watcher.look(at: list) == "")
    watcher.standings["private-a"] = .refused
    #expect(watcher.look(at: list) == "+private-a")
    watcher.standings["private-a"] = .open
    #expect(watcher.look() == "-private-a")
  }

  @Test func `a private channel without a count is named, and its state is not reported`() {
    var watcher = Watcher(channels: ["private-a"])
    watcher.standings["private-a"] = .confirmed
    #expect(watcher.look("private-a", "news") == "+news")
    #expect(watcher.last.uncounted == "private-a")
  }

  @Test func `a presence channel of the command line is never left`() {
    var watcher = Watcher(channels: ["presence-a"])
    #expect(watcher.join("presence-a", "own") == "")
    #expect(watcher.last == .init())
    #expect(watcher.look("presence-a") == "")
    #expect(watcher.last.channels.join == [])
    #expect(watcher.add("1") == "+presence-a +presence-a:1")
    #expect(watcher.remove("1") == "-presence-a:1 -presence-a")
    #expect(watcher.last.channels.leave == [])
  }

  // MARK: Client events

  @Test func `a client event is told with its data as text, and with its sender if there is one`() {
    var watcher = Watcher(channels: ["private-a"])
    _ = watcher.look("presence-a")
    #expect(
      watcher.event(
        #"{"event":"client-x","channel":"presence-a","data":{"n":1.10},"user_id":"7"}"#)
        == WebhookNotice(
          .clientEvent, "presence-a", userID: "7",
          details: [
            .init("event", .string("client-x")), .init("data", .string(#"{"n":1.10}"#)),
          ]))
    #expect(
      watcher.event(#"{"event":"client-y","channel":"private-a","data":"text","user_id":"7"}"#)
        == WebhookNotice(
          .clientEvent, "private-a",
          details: [.init("event", .string("client-y")), .init("data", .string("text"))]))
    #expect(
      watcher.event(#"{"event":"client-z","channel":"private-a"}"#)
        == WebhookNotice(
          .clientEvent, "private-a", details: [.init("event", .string("client-z"))]))
  }

  @Test(arguments: [
    #"{"event":"order","channel":"private-a","data":"{}"}"#,
    #"{"event":"pusher:subscription_count","channel":"private-a","data":"{}"}"#,
    #"{"event":"client-x","channel":"private-b","data":"{}"}"#, #"{"event":"client-x"}"#,
    #"{"event":"client","channel":"private-a"}"#,
  ])
  func `an event of another kind becomes no webhook`(message: String) {
    #expect(Watcher(channels: ["private-a"]).event(message) == nil)
  }

  // MARK: Random histories

  @Test func `in any history, each channel and member comes and goes in turn`() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<200 {
      var watcher = Watcher(
        channels: ["private-t"], channelLimit: 2, memberLimit: 2, reportsStart: true)
      var present: Set<String> = []
      for _ in 0..<60 {
        for line in Self.step(&watcher, &random).split(separator: " ") {
          let name = String(line.dropFirst())
          let isArrival = line.hasPrefix("+")
          let isNew = isArrival ? present.insert(name).inserted : present.remove(name) == nil
          #expect(isNew == isArrival, "\(line)")
          // A member is only on an occupied channel.
          let channel = String(name.prefix { $0 != ":" })
          if isArrival { #expect(present.contains(channel)) }
          if line == "-\(channel)" {
            #expect(!present.contains { $0.hasPrefix("\(channel):") })
          }
        }
      }
    }
  }

  private static func step(_ watcher: inout Watcher, _ random: inout SeededGenerator) -> String {
    let presence = ["presence-a", "presence-b", "presence-c"]
    let channel = presence[random.below(3)]
    let id = ["own", "1", "2", "3"][random.below(4)]
    switch random.below(6) {
    case 0, 1:
      let names = (presence + ["news", "private-t"]).filter { _ in random.below(2) == 0 }
      let list = names.map { name in
        let count = random.below(4)
        return ChannelSearch.Listed(name: name, count: count == 3 ? nil : count)
      }
      return watcher.look(at: list)
    case 2: return watcher.join(channel, "own", id, isCut: random.below(4) == 0)
    case 3: return watcher.add(id, channel)
    case 4: return watcher.remove(id, channel)
    default:
      let standings: [ChannelSearch.Standing] = [.open, .refused, .confirmed]
      watcher.standings[channel] = standings[random.below(3)]
      return ""
    }
  }
}

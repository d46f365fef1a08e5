import Testing

/// The rooms of the targets, and the rules on their use of each other.
extension TidyRules {
  /// Targets with Swift sources, each before the targets that import it.
  static let targets = [
    "PusherCore", "PusherServer", "PusherConsole", "PusherCluster", "PusherTesting", "pusher-cli",
  ]

  /// Rooms of each target from the ground up; other targets are not checked.
  ///
  /// A room is a folder of its target, or a file at the target's top. It may use the rooms of
  /// earlier groups, not those of its own group.
  static let rooms: [String: [[String]]] = [
    "PusherCore": [
      ["Time"], ["Bytes"], ["JSON"], ["Crypto", "Compression", "TLS"], ["HTTP"],
      ["WebSocket", "EventStream"], ["Channels"], ["Transport"], ["Feed"], ["Signing"],
      ["Face"], ["API"],
    ],
    "PusherServer": [
      ["Hub"], ["Dialects"], ["Wire"], ["API"], ["Webhooks"], ["Monitoring"],
      ["Faults"], ["Server"],
    ],
    "PusherCluster": [["Redis"], ["Member"], ["Driver"]],
    "PusherTesting": [["Faults"], ["Server"]],
    "pusher-cli": [
      ["Settings"], ["Metrics"], ["Lines"], ["Run"], ["Bench"], ["Commands"],
      ["Main.swift"],
    ],
  ]

  /// Requires every file of a listed target to be in a room.
  static func unknownRooms(
    _ source: TidySource, rooms: [String: [[String]]] = rooms
  ) -> [Finding] {
    guard let target = source.target, let known = rooms[target]?.joined(), let room = source.room,
      !known.contains(room)
    else { return [] }
    let list = known.joined(separator: ", ")
    return [source.finding(1, "'\(room)' is no room of \(target); the rooms are \(list)")]
  }

  /// Forbids types of a later room or of the same group.
  static func roomOrder(
    _ sources: [TidySource], rooms: [String: [[String]]] = rooms
  ) -> [Finding] {
    rooms.keys.sorted().flatMap { target -> [Finding] in
      let map = RoomMap(target: target, groups: rooms[target] ?? [], sources)
      return map.uses.filter { !map.mayUse($0) }.map {
        $0.source.finding(
          $0.line, "'\($0.name)' belongs to \($0.home), which \($0.room) may not use")
      }
    }
  }

  /// Forbids two rooms of a target to name each other's types.
  static func roomCycles(
    _ sources: [TidySource], rooms: [String: [[String]]] = rooms
  ) -> [Finding] {
    rooms.keys.sorted().flatMap { target -> [Finding] in
      let uses = RoomMap(target: target, groups: rooms[target] ?? [], sources).uses
      var first: [[String]: RoomMap.Use] = [:]
      for use in uses.reversed() { first[[use.room, use.home]] = use }
      return first.values.filter { $0.room < $0.home }.compactMap { there in
        guard let back = first[[there.home, there.room]] else { return nil }
        return there.source.finding(
          there.line,
          "cycle: \(there.room) names \(there.name) of \(there.home); "
            + "\(back.room) names \(back.name) of \(back.home)")
      }
    }
  }

  static let typeKeywords: Set<String> = [
    "struct", "class", "enum", "protocol", "actor", "typealias",
  ]

  /// Names of the standard library, even if another module declares them.
  private static let everywhere: Set<String> = [
    "AsyncIterator", "Element", "Error", "Failure", "ID", "Index", "Iterator", "Output",
    "RawValue", "Result", "Success",
  ]

  /// Returns the types that a source declares, including nested ones, without those invisible to
  /// other files.
  static func declaredTypes(_ source: TidySource) -> Set<String> {
    let tokens = source.tokens
    var names: Set<String> = []
    for index in tokens.indices.dropLast() where typeKeywords.contains(tokens[index].text) {
      let name = tokens[index + 1]
      guard name.isWord, name.text.first?.isUppercase == true else { continue }
      let modifiers = tokens[..<index].reversed().prefix { $0.line == tokens[index].line }
      guard !modifiers.contains(where: { $0.text == "private" || $0.text == "fileprivate" })
      else { continue }
      names.insert(name.text)
    }
    return names.subtracting(everywhere)
  }
}

struct RoomMap {
  struct Use {
    let source: TidySource
    let line: Int
    let name: String
    let room: String
    let home: String
  }

  private let groups: [[String]]
  private(set) var uses: [Use] = []

  init(target: String, groups: [[String]], _ sources: [TidySource]) {
    self.groups = groups
    var homes: [String: Set<String>] = [:]
    // A name that a lower target also declares may mean that target's type.
    let below = TidyRules.targets.prefix { $0 != target }
    var elsewhere: Set<String> = []
    for source in sources {
      let names = TidyRules.declaredTypes(source)
      if below.contains(source.target ?? "") {
        elsewhere.formUnion(names)
      } else if source.target == target, let room = source.room, level(of: room) != nil {
        for name in names { homes[name, default: []].insert(room) }
      }
    }
    for source in sources where source.target == target {
      guard let room = source.room, let own = level(of: room) else { continue }
      for token in source.tokens where token.isWord && !elsewhere.contains(token.text) {
        guard let declaredIn = homes[token.text], !declaredIn.contains(room) else { continue }
        // If several rooms declare a name, the earliest permitted room counts.
        let ordered = declaredIn.sorted { (level(of: $0) ?? 0, $0) < (level(of: $1) ?? 0, $1) }
        let home = ordered.first { level(of: $0) ?? own < own } ?? ordered[0]
        uses.append(
          Use(source: source, line: token.line, name: token.text, room: room, home: home))
      }
    }
  }

  func mayUse(_ use: Use) -> Bool {
    guard let own = level(of: use.room), let other = level(of: use.home) else { return true }
    return other < own
  }

  private func level(of room: String) -> Int? {
    groups.firstIndex { $0.contains(room) }
  }
}

@Suite("Tidy: the order of the rooms")
struct TidyRoomTests {
  private let session = TidySource(
    "Sources/PusherCore/Channels/Session.swift",
    "package final class Session {\n  package enum Ending { case refused }\n}\n")

  @Test func `a type of a later room is refused with file and line`() {
    let early = TidySource(
      "Sources/PusherCore/HTTP/Head.swift", "struct Head {\n  var session: Session?\n}\n")
    #expect(
      TidyRules.roomOrder([early, session]).map(\.description) == [
        "Sources/PusherCore/HTTP/Head.swift:2: error: "
          + "'Session' belongs to Channels, which HTTP may not use"
      ])
  }

  @Test func `a nested type of a later room is refused`() {
    let early = TidySource("Sources/PusherCore/JSON/Value.swift", "let ending: Ending? = nil\n")
    #expect(TidyRules.roomOrder([early, session]).map(\.line) == [1])
  }

  @Test func `a room beside is refused`() {
    let frame = TidySource("Sources/PusherCore/WebSocket/Frame.swift", "struct Frame {}\n")
    let stream = TidySource("Sources/PusherCore/EventStream/Line.swift", "let frame: Frame\n")
    #expect(TidyRules.roomOrder([frame, stream]).count == 1)
  }

  @Test func `an earlier room may be used`() {
    let late = TidySource("Sources/PusherCore/API/Client.swift", "let session: Session\n")
    #expect(TidyRules.roomOrder([session, late]).isEmpty)
  }

  @Test func `comments and strings may name anything, an interpolation may not`() {
    let early = TidySource(
      "Sources/PusherCore/HTTP/Head.swift",
      """
      /// Read by ``Session``.
      /* Session /* Session */ Session */
      let a = "Session \\" Session"
      let b = #"Session " \\(Session)"#
      let c = "\\(Session.self) Session"
      """)
    #expect(TidyRules.roomOrder([early, session]).map(\.line) == [5])
  }

  @Test func `a name that the room declares itself is its own`() {
    let own = TidySource(
      "Sources/PusherCore/HTTP/Head.swift", "enum Ending {}\nlet ending: Ending\n")
    #expect(TidyRules.roomOrder([own, session]).isEmpty)
  }

  @Test func `a private type of a later room is nobody else's name`() {
    let late = TidySource("Sources/PusherCore/API/Client.swift", "private struct Word {}\n")
    let early = TidySource("Sources/PusherCore/HTTP/Head.swift", "func f<Word>(_: Word) {}\n")
    #expect(TidyRules.roomOrder([early, late]).isEmpty)
  }

  @Test func `a folder that is no room is refused`() {
    let lost = TidySource("Sources/PusherCore/Helpers/Helper.swift", "")
    let loose = TidySource("Sources/PusherCore/Helper.swift", "")
    #expect(TidyRules.unknownRooms(lost).count == 1)
    #expect(TidyRules.unknownRooms(loose).count == 1)
    #expect(TidyRules.unknownRooms(session).isEmpty)
  }
  // MARK: Each target has its own rooms

  private static let rooms = [
    "PusherCore": [["Time"], ["Bytes"]],
    "pusher-cli": [["Settings"], ["Lines"], ["Run"], ["Main.swift"]],
  ]

  private func source(_ place: String, _ text: String) -> TidySource {
    TidySource("Sources/\(place).swift", text)
  }

  private func order(_ sources: TidySource...) -> [String] {
    TidyRules.roomOrder(sources, rooms: Self.rooms).map(\.description)
  }

  private func cycles(_ sources: TidySource...) -> [String] {
    TidyRules.roomCycles(sources, rooms: Self.rooms).map(\.description)
  }

  @Test func `the rooms of another target keep their order too`() {
    #expect(
      order(
        source("pusher-cli/Lines/Line", "\n\nlet run: Run\n"),
        source("pusher-cli/Run/Run", "struct Run {}\nlet line: Line\n")) == [
          "Sources/pusher-cli/Lines/Line.swift:3: error: 'Run' belongs to Run, which Lines may not use"
        ])
  }

  @Test func `a file at the top of a target is a room of its own, if it is one`() {
    let main = source("pusher-cli/Main", "struct Main { let run: Run }\n")
    let run = source("pusher-cli/Run/Run", "struct Run {}\n")
    let loose = source("pusher-cli/Loose", "")
    let findings = [main, run, loose].flatMap { TidyRules.unknownRooms($0, rooms: Self.rooms) }
    #expect(
      findings.map(\.description) == [
        "Sources/pusher-cli/Loose.swift:1: error: 'Loose.swift' is no room of pusher-cli; "
          + "the rooms are Settings, Lines, Run, Main.swift"
      ])
    #expect(order(main, run).isEmpty)
    let early = source("pusher-cli/Run/Early", "let main: Main\n")
    #expect(order(main, early).count == 1)
  }

  @Test func `a target without an entry is not checked`() {
    let early = source("PusherServer/Hub/Hub", "let server: Server\nstruct Hub {}\n")
    let late = source("PusherServer/Server/Server", "struct Server { let hub: Hub }\n")
    #expect(order(early, late).isEmpty)
    #expect(cycles(early, late).isEmpty)
    #expect(TidyRules.unknownRooms(early, rooms: Self.rooms).isEmpty)
  }

  @Test func `a cycle of two rooms is reported by name`() {
    let early = source("pusher-cli/Lines/Line", "struct Line {\n  let run: Run\n}\n")
    let late = source("pusher-cli/Run/Run", "struct Run {\n  let line: Line\n}\n")
    #expect(
      cycles(early, late) == [
        "Sources/pusher-cli/Lines/Line.swift:2: error: "
          + "cycle: Lines names Run of Run; Run names Line of Lines"
      ])
    #expect(cycles(late).isEmpty)
  }

  @Test func `a name of a target below may be meant, one of a target above may not`() {
    let library = source("PusherCore/Bytes/Request", "struct Request {}\n")
    let early = source("pusher-cli/Settings/Settings", "let request: Request\n")
    let late = source("pusher-cli/Run/Run", "enum Run { struct Request {} }\n")
    #expect(order(library, early, late).isEmpty)
    let first = source("PusherCore/Time/Time", "let request: Request\n")
    #expect(TidyRules.roomOrder([library, first, late], rooms: Self.rooms).map(\.line) == [1])
  }
}

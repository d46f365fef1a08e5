import Testing

extension TidyRules {
  private static func dealsWithNames(_ source: TidySource) -> Bool {
    source.target == "PusherServer"
      || source.isCore("Channels", "Feed", "Signing", "Face", "API")
  }

  /// Files whose keyed tables hold no names from peers or users: variables, headers, settings, or a
  /// public type with a fixed form.
  private static let exceptions: Set<String> = [
    "PusherNetwork.swift", "EventSource.swift", "EventSourceCore.swift", "PusherChannels.swift",
    "PusherAPI+Channels.swift", "StagedFault.swift", "AnyDataHandlers.swift", "PusherAPI.swift",
    "PusherClientOptions.swift",
  ]

  /// Names are bytes: `String` compares by Unicode equivalence, which would merge two channels.
  static func namesByEquivalence(_ source: TidySource) -> [Finding] {
    guard dealsWithNames(source) else { return [] }
    var found = [["hasPrefix", "("], ["hasSuffix", "("]].flatMap { source.matches($0) }.map {
      source.finding(
        $0.line, "\($0.text) compares text, names are bytes: begins(with:), ends(with:)")
    }
    let file = source.path.split(separator: "/").last.map(String.init) ?? ""
    guard !exceptions.contains(file) else { return found }
    let tables = [
      ["[", "String", ":"], ["Set", "<", "String", ">"], ["Dictionary", "<", "String"],
    ]
    found += tables.flatMap { source.matches($0) }.map {
      source.finding($0.line, "a table by text makes one of two names: NameTable, NameSet")
    }
    return found
  }
}

@Suite("Tidy: names")
struct TidyNameTests {
  @Test(arguments: [
    "if name.hasPrefix(\"private-\") {}", "path.hasSuffix(\"/\")", "var a: [String: Hub] = [:]",
    "var a: Set<String> = []", "let a = Dictionary<String, Int>()",
  ])
  func `text as a name is refused where names are dealt with`(text: String) {
    let rooms = ["PusherServer", "PusherCore/Channels", "PusherCore/Face", "PusherCore/API"]
    for room in rooms + ["PusherCore/HTTP", "pusher-cli"] {
      let found = TidyRules.namesByEquivalence(TidySource("Sources/\(room)/A.swift", text))
      #expect(found.count == (rooms.contains(room) ? 1 : 0), "\(room)")
    }
  }

  @Test(arguments: [
    "name.begins(with: \"private-\")", "var a = NameTable<Hub>()", "var a: [Name: Int] = [:]",
    "let a: [String] = []", "// hasPrefix( and [String: Int]",
  ])
  func `names as bytes are fine`(text: String) {
    #expect(TidyRules.namesByEquivalence(TidySource("Sources/PusherServer/A.swift", text)).isEmpty)
  }
}

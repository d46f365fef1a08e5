import PusherCore
import TestSupport
import Testing

struct EventFilterTests {
  @Test(
    arguments: [
      (EventFilter(), true, ["anything"], []),
      (
        EventFilter(include: ["order.*", "user.*"], exclude: ["*.deleted", "user.x"]), false,
        ["order.created", "user.created"], ["order.deleted", "user.x", "other"]
      ),
      (EventFilter(exclude: ["pusher:*"]), false, ["order"], ["pusher:member_added"]),
    ] as [(EventFilter, Bool, [String], [String])])
  func `wanted is what fits one pattern, if there is any, and none of the others`(
    filter: EventFilter, passesAll: Bool, wanted: [String], others: [String]
  ) {
    #expect(filter.passesAll == passesAll)
    #expect((wanted + others).filter { filter.passes($0) } == wanted)
  }

  @Test func `a remembered verdict is the filter's own, for any number and length of names`() {
    let filter = EventFilter(include: ["a*", "*7"], exclude: ["*77"])
    let memory = FilterMemory(filter)
    let names = (0..<1500).map { "a\($0)" } + (0..<1500).map { "b\($0)" }
    let long = ["a", "b"].map { String(repeating: $0, count: 100_000) }
    for name in names + long + ["", "é7", "77"] + names {
      withView(Array(name.utf8)) { #expect(memory.passes($0) == filter.passes(name)) }
      #expect(memory.passes(name) == filter.passes(name))
    }
  }

  /// Names as people paste them: PHP class names with a leading backslash, as JSON or by namespace;
  /// and aliases with the leading dot of Laravel Echo.
  @Test(
    arguments: [
      (
        "App|Events|OrderShipped",
        [
          #"App\Events\OrderShipped"#, #"\App\Events\OrderShipped"#, #"App\\Events\\OrderShipped"#,
          #"\\App\\Events\\OrderShipped"#, #"App\Events\*"#, #"App\\Events\\*"#, #"*\OrderShipped"#,
          #"App\Events\?rderShipped"#, #"App\Events\[A-Z]*"#,
        ], true
      ),
      ("App|Events|OrderShipped", ["AppEventsOrderShipped", #"App\Events"#], false),
      ("AppEventsOrderShipped", [#"App\Events\OrderShipped"#], false),
      ("order.shipped", [".order.shipped", ".order.*"], true),
      (".order.shipped", [".order.shipped"], true), (".order.shipped", ["order.shipped"], false),
      ("order", ["..order"], false), (".order", ["..order"], true), ("", [".", #"\"#], false),
      (".", ["."], true), ("|", [#"\"#, #"\\"#], true), ("anything", [".*"], true),
    ] as [(String, [String], Bool)])
  func `a name fits as frameworks show it`(name: String, patterns: [String], fits: Bool) {
    let bytes = name.utf8.map { $0 == UInt8(ascii: "|") ? 0x5C : $0 }
    let text = String(decoding: bytes, as: UTF8.self)
    for pattern in patterns {
      let filter = EventFilter(include: [pattern])
      #expect(filter.passes(text) == fits, "\(pattern)")
      #expect(EventFilter(exclude: [pattern]).passes(text) == !fits, "\(pattern)")
      withView(bytes) { #expect(FilterMemory(filter).passes($0) == fits, "\(pattern)") }
    }
  }
}

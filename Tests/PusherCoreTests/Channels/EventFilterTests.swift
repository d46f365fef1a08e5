import PusherCore
import TestSupport
import Testing

@Suite struct EventFilterTests {
  @Test func `without patterns every event is wanted`() {
    #expect(EventFilter().passes("anything"))
    #expect(EventFilter().passesAll)
  }

  @Test func `wanted is what fits one pattern and none of the others`() {
    let filter = EventFilter(include: ["order.*", "user.*"], exclude: ["*.deleted", "user.x"])
    #expect(!filter.passesAll)
    #expect(filter.passes("order.created") && filter.passes("user.created"))
    #expect(!filter.passes("order.deleted") && !filter.passes("user.x") && !filter.passes("other"))
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
      (#"App\Events\OrderShipped"#, "App|Events|OrderShipped", true),
      (#"\App\Events\OrderShipped"#, "App|Events|OrderShipped", true),
      (#"App\\Events\\OrderShipped"#, "App|Events|OrderShipped", true),
      (#"\\App\\Events\\OrderShipped"#, "App|Events|OrderShipped", true),
      (#"App\Events\*"#, "App|Events|OrderShipped", true),
      (#"App\\Events\\*"#, "App|Events|OrderShipped", true),
      (#"*\OrderShipped"#, "App|Events|OrderShipped", true),
      (#"App\Events\?rderShipped"#, "App|Events|OrderShipped", true),
      (#"App\Events\[A-Z]*"#, "App|Events|OrderShipped", true),
      ("AppEventsOrderShipped", "App|Events|OrderShipped", false),
      (#"App\Events"#, "App|Events|OrderShipped", false),
      (#"App\Events\OrderShipped"#, "AppEventsOrderShipped", false),
      (".order.shipped", "order.shipped", true), (".order.shipped", ".order.shipped", true),
      ("order.shipped", ".order.shipped", false), (".order.*", "order.shipped", true),
      ("..order", "order", false), ("..order", ".order", true), (".", "", false), (".", ".", true),
      (#"\"#, "", false), (#"\"#, "|", true), (#"\\"#, "|", true), (".*", "anything", true),
    ] as [(String, String, Bool)])
  func `a name fits as frameworks show it`(pattern: String, name: String, fits: Bool) {
    let bytes = name.utf8.map { $0 == UInt8(ascii: "|") ? 0x5C : $0 }
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(EventFilter(include: [pattern]).passes(text) == fits)
    #expect(EventFilter(exclude: [pattern]).passes(text) == !fits)
    withView(bytes) { #expect(FilterMemory(EventFilter(include: [pattern])).passes($0) == fits) }
  }

  @Test func `patterns that only exclude leave the rest`() {
    let filter = EventFilter(exclude: ["pusher:*"])
    #expect(!filter.passesAll)
    #expect(filter.passes("order") && !filter.passes("pusher:member_added"))
  }
}

import Testing

@testable import pusher_cli

@Suite("The variables of a command of --exec")
struct HookVariableTests {
  @Test func `a peer's text is a variable when it has no NUL, and at most 4096 bytes of it`() {
    #expect(EventHook.variable("order.created") == "order.created")
    #expect(EventHook.variable(nil) == "")
    #expect(EventHook.variable("order.created\0.not") == "")
    #expect(EventHook.variable(String(repeating: "x", count: 4097)).utf8.count == 4096)
    // Three bytes per character: a partial character is left out.
    #expect(EventHook.variable(String(repeating: "€", count: 2000)).utf8.count == 4095)
  }
}

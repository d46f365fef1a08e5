import Testing

@Suite struct `What the compiler says of handlers and delegates` {
  @Test func `a delegate that nobody else holds is a warning`() throws {
    let found = try SampleCompiler.diagnostics(of: [
      "final class D: PusherDelegate {}\nfunc a(_ p: Pusher) { p.delegate = D() }",
      "final class E: PusherDelegate {}\nfunc b(_ p: Pusher) { p.connection.delegate = E() }",
      "final class F: PusherDelegate {}\nfunc c(_ p: Pusher, _ f: F) { p.delegate = f }",
    ])
    for lines in found.prefix(2) {
      #expect(
        lines.contains {
          $0.contains("will be immediately deallocated because property 'delegate'")
        })
    }
    #expect(found.last == [])
  }

  @Test func `handlers with and without a type find the one function that is meant`() throws {
    let found = try SampleCompiler.diagnostics(of: [
      """
      func d(_ pusher: Pusher, _ channel: PusherChannel) {
        channel.bind(eventName: "e", callback: { (data: Any?) -> Void in _ = data as? [String: AnyObject] })
        channel.bind(eventName: "e", callback: { data in _ = data?["price"]?.text })
        channel.bind(eventName: "e", callback: { data in print("Subscribed!") })
        channel.bind(eventName: "e") { (data: Any?) in _ = data as? [String: Any] }
        channel.bind(eventName: "e") { event in _ = event.channelName }
        channel.bind(eventName: "e") { event in print(event) }
        channel.bind(eventName: "e") { print($0.eventName) }
        channel.bind { event in print(event.eventName) }
        pusher.bind({ (message: Any?) in _ = message as? [String: AnyObject] })
        pusher.bind(callback: { (message: Any?) in _ = message as? [String: AnyObject] })
        pusher.bind(callback: { message in _ = message?["event"] })
        pusher.bind { (message: Any?) in _ = message as? [String: AnyObject] }
        pusher.bind { event in print(event.eventName) }
        pusher.bind(eventName: "e") { event in print(event.eventName) }
      }
      """
    ])
    #expect(found == [[]])
  }

  @Test func `labels that the pages leave out are named by the compiler`() throws {
    let found = try SampleCompiler.diagnostics(of: [
      #"func f(_ pusher: Pusher) { pusher.subscribeToPresenceChannel("presence-a", onMemberAdded: nil) }"#,
      #"func g(_ pusher: Pusher) { _ = pusher.connection.channels.findPresence("presence-a") }"#,
    ])
    #expect(
      found[0].contains { $0.hasSuffix("error: missing argument label 'channelName:' in call") })
    #expect(found[1].contains { $0.hasSuffix("error: missing argument label 'name:' in call") })
  }
}

import PusherCore
import PusherLines
import Testing

@testable import pusher_cli

/// What a run says at its end about events that it left out, or that never came.
@Suite("Events that were left out")
struct LeftOutTests {
  /// Prints events of these names with the data 1, and returns what the run says about the rest.
  private func rejection(_ options: [String], _ names: String...) throws -> String {
    let settings = try SubscribeSettings(
      arguments(["subscribe", "--local", "news"] + options), environment: [:],
      files: PretendFiles().access
    ).printing
    let printer = Printer(
      settings: settings, service: .pusher, output: ByteBuffer(), isTerminal: false,
      wallTime: { WallTime(millisecondsSince1970: 0) })
    for name in names {
      let message: JSONValue = ["event": .string(name), "channel": "news", "data": "1"]
      Envelope.with(Array(JSONWriter.text(message).utf8)) { printer.print($0) }
    }
    return Hints.rejection(printer, settings)
  }

  @Test(arguments: [
    (["-e", "order"], "3 other events came, none matches -e: 'x', 'y'"),
    (["-x", "*"], "3 other events came, all match -x: 'x', 'y'"),
    (["-e", "x*", "-x", "x"], "3 other events came, -e and -x exclude all: 'x', 'y'"),
    (["-e", "y"], "2 other events came, none matches -e: 'x'"),
    (["--where", "data > 1"], "3 other events came, --where left out 3"),
    (
      ["-e", "y", "--where", "data == 2"],
      "3 other events came, --where left out 1, of the rest none matches -e: 'x'"
    ),
    (
      ["-x", "y", "--where", #"data == "1""#],
      "3 other events came, --where left out 2, of the rest all match -x: 'y'"
    ),
  ])
  func `the words count the events and name the patterns`(options: [String], words: String) throws {
    #expect(try rejection(options, "x", "x", "y") == words)
  }

  @Test func `a single event is called an event`() throws {
    #expect(try rejection(["-e", "order"], "x") == "1 other event came, none matches -e: 'x'")
  }

  @Test func `the event whose name is like the pattern is named first, and three in all`() throws {
    #expect(
      try rejection(["-e", "orderShipped"], "a", "b", "c", #"App\Events\OrderShipped"#)
        == #"4 other events came, none matches -e: 'App\Events\OrderShipped', 'a', 'b' and others"#
    )
  }

  @Test(arguments: [
    (
      ["private-a", "orders.1"],
      "nothing came; private-orders.1 and presence-orders.1 are different channels: does the app "
        + "send to one of them?"
    ),
    (
      ["private-a"],
      "nothing came; a and presence-a are different channels: does the app send to one of them?"
    ),
    (
      ["a", "private-a"],
      "nothing came; presence-a is a different channel: does the app send to it?"
    ),
    (["presence-a"], ""),
  ])
  func `where nothing came, a channel's other names are to be checked`(
    channels: [String], words: String
  ) {
    #expect(Hints.silence(channels) == words)
  }
}

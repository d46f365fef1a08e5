import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

/// The conditions of `--where` are about the printed line, whatever way an event takes.
struct `--where: printed lines` {
  private static let json = EventForm(output: .json, color: .never)

  private static let expressions = [
    "data", "channel", "user_id", "data[0]", "data.a", "data != 0", #"data > """#, "data < 100",
    #"channel >= "n""#, #"event == "order.created""#, "data == true", "data != null",
  ]

  @Test(arguments: expressions)
  func `the fast and the general way print a generated message if its line passes`(
    expression: String
  ) throws {
    let filter = try #require(WhereFilter([WhereClause(expression)]))
    var random = SeededGenerator(seed: 39)
    let plain = PrinterRig(try PrintSettings(Self.json))
    let fast = PrinterRig(try PrintSettings(Self.json, conditions: [expression]))
    let general = PrinterRig(try PrintSettings(Self.json, conditions: [expression]))
    var taken = 0
    var rejected = 0
    for _ in 0..<800 {
      let message = RandomMessage(&random).bytes
      guard withView(message, { (try? Envelope($0)) != nil }) else { continue }
      plain.takeGenerally(message)
      general.takeGenerally(message)
      if fast.take(message) { taken += 1 }
      let line = plain.printed()
      let passes = withView(Array(line.utf8)) { filter.passes(EventLine($0)) }
      if !passes { rejected += 1 }
      let expected = passes ? line : ""
      #expect(fast.printed() == expected && general.printed() == expected, "\(line)")
    }
    #expect(taken > 100)
    for printer in [fast.printer, general.printer] {
      #expect(printer.rejected == rejected && printer.unmet == rejected)
      #expect(printer.count == plain.printer.count - rejected)
    }
  }

  private static func message(_ data: String) -> [UInt8] {
    Array(#"{"event":"e","channel":"c","data":"\#(data)"}"#.utf8)
  }

  @Test func `a rejected event leaves waiting output as it is, and counts nothing`() throws {
    let rig = PrinterRig(try PrintSettings(Self.json, conditions: ["data.n == 2"], count: 2))
    for number in [1, 2, 3, 2] {
      withView(Self.message(#"{\"n\":\#(number)}"#)) { view in
        let verdict = rig.printer.take(message: view)
        #expect(verdict == (rig.printer.isDone ? .takenAndFull : .taken))
      }
    }
    #expect(rig.printer.count == 2)
    let line = #"{"event":"e","channel":"c","data":{"n":2}}"# + "\n"
    #expect(rig.printed() == line + line)
  }

  @Test(arguments: [
    EventForm(output: .json, hasTimestamps: true, color: .never),
    EventForm(output: .json, terminator: 0, color: .never),
    EventForm(output: .json, color: .always), EventForm(output: .raw, color: .never),
    EventForm(output: .pretty, color: .never),
    EventForm(output: .json, template: try? FormatTemplate("%d"), color: .never),
  ])
  func `the form of the output does not matter`(form: EventForm) throws {
    let rig = PrinterRig(try PrintSettings(form, conditions: ["data.n == 2"]))
    for number in [1, 2] { #expect(rig.take(Self.message(#"{\"n\":\#(number)}"#))) }
    #expect(rig.printer.count == 1 && rig.printer.unmet == 1)
    let printed = rig.printed()
    #expect(printed.contains("2") && !printed.contains("1}"))
    if form.template != nil { #expect(printed == #"{"n":2}"# + "\n") }
  }

  @Test(arguments: [
    ("plain", #"data == "plain""#, true), ("plain", "data.a != 1", true),
    (JSONSamples.nested(251), "data[0]", false),
    (JSONSamples.nested(251), #"data >= "[[""#, true), ("", #"data == """#, true),
  ])
  func `data that is no JSON, or too deep for a line, is a text`(
    data: String, expression: String, isPrinted: Bool
  ) throws {
    let rig = PrinterRig(try PrintSettings(Self.json, conditions: [expression]))
    rig.takeGenerally(Self.message(data))
    #expect(rig.printed().isEmpty != isPrinted)
  }
}

/// What a run says at its end about events that it left out, or that never came.
struct `Events that were left out` {
  /// Prints events of these names with the data 1, and returns what the run says about the rest.
  private func rejection(_ options: [String], _ names: String...) throws -> String {
    let settings = try SubscribeSettings(
      arguments(["subscribe", "--local", "news"] + options), environment: [:],
      files: PretendFiles().access
    ).printing
    let rig = PrinterRig(settings)
    for name in names {
      let message: JSONValue = ["event": .string(name), "channel": "news", "data": "1"]
      rig.takeGenerally(Array(message.jsonText.utf8))
    }
    return Hints.rejection(rig.printer, settings)
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
        == #"4 other events came, none matches -e: 'App\Events\OrderShipped', 'a', 'b' and others"#)
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
  func `the channels of the same name and another kind are named, if not all are subscribed`(
    channels: [String], words: String
  ) {
    #expect(Hints.silence(channels) == words)
  }
}

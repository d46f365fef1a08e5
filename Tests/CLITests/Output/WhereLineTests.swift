import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

/// The conditions of `--where` are about the printed line, whatever way an event takes.
@Suite("--where: printed lines")
struct WhereLineTests {
  private static func clauses(_ expressions: [String]) throws -> [WhereClause] {
    try expressions.map { try WhereClause($0) }
  }

  private static func settings(
    _ conditions: [WhereClause] = [], count: Int? = nil,
    _ change: ((inout EventForm) -> Void)? = nil
  ) -> PrintSettings {
    var form = EventForm(output: .json, color: .never)
    change?(&form)
    return PrintSettings(
      includedEvents: [], excludedEvents: [], conditions: conditions, count: count, form: form,
      bufferSize: 16 << 20)
  }

  private final class Side {
    let output = ByteBuffer()
    let printer: Printer

    init(_ settings: PrintSettings) {
      printer = Printer(
        settings: settings, service: .pusher, output: output, isTerminal: false,
        wallTime: { WallTime(millisecondsSince1970: 1_763_689_171_121) })
    }

    var printed: String {
      let text = output.view.text
      output.removeAll()
      return text
    }
  }

  private static let expressions = [
    "data", "channel", "user_id", "data[0]", "data.a", "data != 0", #"data > """#, "data < 100",
    #"channel >= "n""#, #"event == "order.created""#, "data == true", "data != null",
  ]

  @Test(arguments: expressions)
  func `the fast and the general way print a generated message if its line passes`(
    expression: String
  ) throws {
    let conditions = try Self.clauses([expression])
    let filter = try #require(WhereFilter(conditions))
    var random = SeededGenerator(seed: 39)
    let plain = Side(Self.settings())
    let fast = Side(Self.settings(conditions))
    let general = Side(Self.settings(conditions))
    var taken = 0
    var rejected = 0
    for _ in 0..<2000 {
      let message = RandomMessage(&random)
      withView(message.bytes) { view in
        guard let envelope = try? Envelope(view) else { return }
        plain.printer.print(envelope)
        general.printer.print(envelope)
        if fast.printer.take(message: view) == .taken {
          taken += 1
        } else {
          fast.printer.print(envelope)
        }
      }
      let line = plain.printed
      let passes = withView(Array(line.utf8)) { filter.passes($0) }
      if !passes { rejected += 1 }
      let expected = passes ? line : ""
      #expect(fast.printed == expected && general.printed == expected, "\(line)")
    }
    #expect(taken > 300)
    for side in [fast, general] {
      #expect(side.printer.rejected == rejected && side.printer.unmet == rejected)
      #expect(side.printer.count == plain.printer.count - rejected)
    }
  }

  private static func message(_ data: String) -> [UInt8] {
    Array(#"{"event":"e","channel":"c","data":"\#(data)"}"#.utf8)
  }

  @Test func `a rejected event leaves waiting output as it is, and counts nothing`() throws {
    let side = Side(Self.settings(try Self.clauses(["data.n == 2"]), count: 2))
    for number in [1, 2, 3, 2] {
      withView(Self.message(#"{\"n\":\#(number)}"#)) { view in
        let verdict = side.printer.take(message: view)
        #expect(verdict == (side.printer.isDone ? .takenAndFull : .taken))
      }
    }
    #expect(side.printer.count == 2)
    #expect(
      side.printed
        == String(repeating: #"{"event":"e","channel":"c","data":{"n":2}}"# + "\n", count: 2))
  }

  @Test(arguments: [
    EventForm(output: .json, hasTimestamps: true, color: .never),
    EventForm(output: .json, terminator: 0, color: .never),
    EventForm(output: .json, color: .always), EventForm(output: .raw, color: .never),
    EventForm(output: .pretty, color: .never),
  ])
  func `the form of the output does not matter`(form: EventForm) throws {
    let side = Side(Self.settings(try Self.clauses(["data.n == 2"])) { $0 = form })
    for number in [1, 2] {
      withView(Self.message(#"{\"n\":\#(number)}"#)) { view in
        #expect(side.printer.take(message: view) == .taken)
      }
    }
    #expect(side.printer.count == 1 && side.printer.unmet == 1)
    #expect(side.printed.contains("2") && !side.printed.contains("1}"))
  }

  @Test func `a template prints the events that pass`() throws {
    let template = try FormatTemplate("%d")
    let side = Side(Self.settings(try Self.clauses(["data.n == 2"])) { $0.template = template })
    for number in [1, 2] {
      withView(Self.message(#"{\"n\":\#(number)}"#)) { view in
        #expect(side.printer.take(message: view) == .taken)
      }
    }
    #expect(side.printed == #"{"n":2}"# + "\n")
  }

  @Test func `data that is no JSON, or too deep for a line, is a text`() throws {
    let deep = JSONSamples.nested(251)
    for (data, expression, isPrinted) in [
      ("plain", #"data == "plain""#, true), ("plain", "data.a != 1", true),
      (deep, "data[0]", false), (deep, #"data >= "[[""#, true), ("", #"data == """#, true),
    ] {
      let side = Side(Self.settings(try Self.clauses([expression])))
      withView(Self.message(data)) { view in
        if let envelope = try? Envelope(view) { side.printer.print(envelope) }
      }
      #expect(side.printed.isEmpty != isPrinted, "\(data) \(expression)")
    }
  }
}

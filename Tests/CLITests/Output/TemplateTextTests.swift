import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

/// `--format` prints the same from the JSON line and field by field.
@Suite("--format: both ways")
struct TemplateTextTests {
  private static let time = WallTime(millisecondsSince1970: 1_763_689_171_121)

  private static func settings(_ format: String, hasTimestamps: Bool) throws -> PrintSettings {
    PrintSettings(
      includedEvents: [], excludedEvents: [],
      form: EventForm(
        output: .raw, template: try FormatTemplate(format), hasTimestamps: hasTimestamps,
        color: .never),
      bufferSize: 16 << 20)
  }

  /// A printer of one way and its output.
  private struct Side {
    let output = ByteBuffer()
    let printer: EventPrinter

    init(_ format: String, hasTimestamps: Bool = false) throws {
      printer = EventPrinter(
        settings: try TemplateTextTests.settings(format, hasTimestamps: hasTimestamps),
        service: .pusher, output: output, isTerminal: false, wallTime: { TemplateTextTests.time })
    }

    var printed: String {
      let text = output.view.text
      output.removeAll()
      return text
    }
  }

  private static let formats = [
    "%c %e %d", "%j", "%D|%N|%u|%i", "%t %T %s %d", "%d%d", "%e", "100%% %c\\t%j\\0",
  ]

  @Test(arguments: formats, [false, true])
  func `generated messages give the same text`(format: String, hasTimestamps: Bool) throws {
    var random = SeededGenerator(seed: 41)
    let fast = try Side(format, hasTimestamps: hasTimestamps)
    let general = try Side(format, hasTimestamps: hasTimestamps)
    var taken = 0
    for number in 0..<3000 {
      let message = RandomMessage(&random)
      let bytes = number % 3 == 2 ? message.mutated(&random) : message.bytes
      var isMessage = true
      withView(bytes) { view in
        guard let envelope = try? Envelope(view) else {
          isMessage = false
          return #expect(fast.printer.take(message: view) == .declined)
        }
        general.printer.print(envelope)
        if fast.printer.take(message: view) == .taken {
          taken += 1
        } else {
          fast.printer.print(envelope)
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard isMessage else { continue }
      #expect(fast.printed == general.printed, "\(text)")
    }
    #expect(taken > 300)
  }

  @Test(arguments: [
    ("plain", "{}", true), ("{}", #"{\"a\":[1,2.50,\"é\"]}"#, true), ("-1", "-1", true),
    // Printing removes a string's quotes, decodes escapes and shows control characters.
    ("text", #"\"a\""#, false), ("escape", #"{\"a\":\"\\n\"}"#, false), ("no JSON", "hello", false),
    ("été", "{}", false), ("\u{7F}", "{}", false), ("~ !", "{}", true),
  ])
  func `what stands in the line as it is printed takes the fast way`(
    event: String, data: String, isFast: Bool
  ) throws {
    let side = try Side("%e %c %d")
    withView(Array(#"{"event":"\#(event)","channel":"c","data":"\#(data)"}"#.utf8)) {
      #expect(side.printer.take(message: $0) == (isFast ? .taken : .declined))
    }
    #expect(side.printed.isEmpty != isFast)
  }

  @Test func `what was on the wire is no part of a line`() throws {
    let side = try Side("%w")
    withView(Array(#"{"event":"e","channel":"c","data":"{}"}"#.utf8)) {
      #expect(side.printer.take(message: $0) == .declined)
    }
  }

  /// Returns the template's output for a stream event, field by field.
  private func text(
    _ event: EventStreamEvent, _ template: FormatTemplate, _ number: Int
  ) -> String {
    let output = ByteBuffer()
    let writer = EventStreamLineWriter(
      output: output, style: EventLineStyle(), usesFastWay: false)
    writer.setReceivedAt(Self.time.rfc3339)
    let data = Printer.text(
      of: (try? JSONParser.parse(event.data)) ?? .string(event.data.text))
    template.write(to: output, style: EventLineStyle()) { field in
      switch field {
      case .event: event.type.text
      case .id: event.lastEventID.text
      case .data: data
      case .dataField: Printer.field(of: data)
      case .number: String(number)
      case .time: Self.time.rfc3339
      case .localTime: Self.time.localText
      case .seconds: "1763689171.121"
      default: ""
      }
    } writeLine: {
      writer.write(event)
    }
    return output.view.text
  }

  @Test(arguments: formats)
  func `generated events of a stream give the same text`(format: String) throws {
    var random = SeededGenerator(seed: 43)
    let names = ["up", "été", "a-name-of-twenty-bytes", "", "\u{7F}"]
    let encodings: [JSONEncoding] = [.python, .minimal, .pretty]
    let output = ByteBuffer()
    let template = try FormatTemplate(format)
    let printer = StreamPrinter(
      settings: try Self.settings(format, hasTimestamps: true), output: output, isTerminal: false,
      wallTime: { Self.time })
    for number in 1...1500 {
      let value = RandomJSON.value(depth: number % 4, &random)
      let data = encodings[number % 3].text(value).split(separator: "\n").joined(
        separator: "\ndata:")
      let id = number % 7 == 0 ? "" : "\(number)"
      let parser = EventStreamParser()
      parser.input.append("event: \(names[number % 5])\nid: \(id)\ndata: \(data)\n\n")
      let event = try #require(try parser.next())
      printer.print(event)
      #expect(output.view.text == text(event, template, number))
      output.removeAll()
    }
  }
}

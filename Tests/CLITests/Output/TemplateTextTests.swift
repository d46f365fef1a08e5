import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

/// `--format` prints the same from the JSON line and field by field.
struct `--format: both ways` {
  private static func rig(
    _ format: String, hasTimestamps: Bool = false, service: PusherService? = .pusher
  ) throws -> PrinterRig {
    let form = EventForm(
      output: .raw, template: try FormatTemplate(format), hasTimestamps: hasTimestamps,
      color: .never)
    return PrinterRig(try PrintSettings(form), service: service)
  }

  private static let formats = [
    "%c %e %d", "%j", "%D|%N|%u|%i", "%t %T %s %d", "%d%d", "%e", "100%% %c\\t%j\\0",
  ]

  @Test(arguments: formats, [false, true])
  func `generated messages give the same text`(format: String, hasTimestamps: Bool) throws {
    var random = SeededGenerator(seed: 41)
    let fast = try Self.rig(format, hasTimestamps: hasTimestamps)
    let general = try Self.rig(format, hasTimestamps: hasTimestamps)
    var taken = 0
    for number in 0..<1000 {
      let message = RandomMessage(&random)
      let bytes = number % 3 == 2 ? message.mutated(&random) : message.bytes
      let isMessage = withView(bytes) { (try? Envelope($0)) != nil }
      let isTaken = fast.take(bytes)
      general.takeGenerally(bytes)
      if isTaken { taken += 1 }
      #expect(isMessage || !isTaken)
      #expect(fast.printed() == general.printed(), "\(String(decoding: bytes, as: UTF8.self))")
    }
    #expect(taken > 100)
  }

  @Test(arguments: [
    ("plain", "{}", "{}"), ("{}", #"{\"a\":[1,2.50,\"é\"]}"#, #"{"a":[1,2.50,"é"]}"#),
    ("-1", "-1", "-1"), ("text", #"\"a\""#, "a"),
    ("escape", #"{\"a\":\"\\n\\u00e9\"}"#, #"{"a":"\né"}"#), ("été", "{}", "{}"),
    ("~ !", "{}", "{}"),
  ])
  func `text is printed without quotes and escapes, JSON as a line has it`(
    event: String, data: String, printed: String
  ) throws {
    let rig = try Self.rig("%e %c %d")
    #expect(rig.take(Array(#"{"event":"\#(event)","channel":"c","data":"\#(data)"}"#.utf8)))
    #expect(rig.printed() == "\(event) c \(printed)\n")
  }

  @Test func `what was on the wire is printed as it came`() throws {
    let rig = try Self.rig("%w")
    #expect(rig.take(Array(#"{"event":"e","channel":"c","data":"{ }"}"#.utf8)))
    #expect(rig.printed() == "{ }\n")
  }

  /// Returns the template's output for a stream event, field by field.
  private func text(_ event: EventStreamEvent, _ template: FormatTemplate, _ number: Int) -> String
  {
    let output = ByteBuffer()
    let maker = LineMaker(output: output, service: nil, usesFastWay: false)
    maker.setReceivedAt(PrinterRig.time.rfc3339)
    maker.write(event)
    let line = String(output.view.text.dropLast())
    let value = (try? JSONParser.parse(event.data)) ?? .string(event.data.text)
    let data = Printer.text(of: value)
    return template.parts.map { part -> String in
      guard case .field(let field) = part else {
        if case .text(let text) = part { return text }
        return ""
      }
      switch field {
      case .event: return Diagnostics.escaped(event.type.text)
      case .id: return Diagnostics.escaped(event.lastEventID.text)
      case .data: return data
      case .dataField: return Self.field(of: data)
      case .number: return String(number)
      case .time: return PrinterRig.time.rfc3339
      case .localTime: return PrinterRig.time.localText
      case .seconds: return "1763689171.121"
      case .line: return line
      case .wire: return event.data.text
      case .channel, .userID: return ""
      }
    }.joined() + "\n"
  }

  private static func field(of text: String) -> String {
    let escapes: [Unicode.Scalar: String] = ["\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"]
    return text.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
  }

  @Test(arguments: formats)
  func `generated events of a stream give the same text`(format: String) throws {
    var random = SeededGenerator(seed: 43)
    let names = ["up", "été", "a-name-of-twenty-bytes", "", "\u{7F}"]
    let encodings: [JSONEncoding] = [.python, .minimal, .pretty]
    let template = try FormatTemplate(format)
    let rig = try Self.rig(format, hasTimestamps: true, service: nil)
    for number in 1...500 {
      let value = RandomJSON.value(depth: number % 4, &random)
      let data = encodings[number % 3].text(value).split(separator: "\n").joined(
        separator: "\ndata:")
      let id = number % 7 == 0 ? "" : "\(number)"
      let parser = EventStreamParser()
      parser.input.append("event: \(names[number % 5])\nid: \(id)\ndata: \(data)\n\n")
      let event = try #require(try parser.next())
      rig.printer.print(event)
      #expect(rig.printed() == text(event, template, number))
    }
  }
}

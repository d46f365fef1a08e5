import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

struct `Settings of --field, --join, --fail-event and --fail-where` {
  @Test func `the path is read, for both commands`() throws {
    let form = try subscribe("a --key k --field a.b -0").printing.form
    #expect(form.field == (try FieldPath("a.b")))
    #expect(!form.joinsFields && form.terminator == 0)
    let joined = try sse("http://h/ --field choices.0.delta.content --join").printing.form
    #expect(joined.field == (try FieldPath("choices.0.delta.content")) && joined.joinsFields)
    #expect(try subscribe("a --key k").printing.form.field == nil)
  }

  @Test(
    arguments: """
      --field a..b => --field: 'a..b' has an empty name
      --field a[b]
        => --field: 'a[b]' has brackets that are not a place in an array, such as [0]
      --field a -o raw => …--field…
      --field a -F %e => …--field…
      --field a -t => …--field…
      --field a -L => …--field…
      --fail-where error => --fail-where 'error': lines have no field…
      """ as Table)
  func `a text that is no path is refused, and so are other forms of output`(row: Table.Row) {
    row.expectRefusal(after: "sse http://h/ ")
  }

  @Test func `a path of more than 64 names is refused with the limit`() {
    let path = Array(repeating: "a", count: 65).joined(separator: ".")
    #expect(
      refusal { _ = try sse("http://h/ --field \(path)") }
        == "--field: '\(path)' has more than 64 names and places")
  }

  @Test func `a variable's format and colours do not apply to a field`() throws {
    let environment = ["PUSHER_CLI_OUTPUT": "pretty", "FORCE_COLOR": "1"]
    let form = try sse("http://h/ --field a", environment).printing.form
    #expect(form.field != nil && form.color == .auto)
  }

  @Test func `--fail-event and --fail-where are repeatable and keep their order`() throws {
    let settings = try sse(
      "http://h/ --fail-event error --fail-event *.failed --fail-where data.error "
        + "--fail-where data.n>3"
    ).printing
    #expect(settings.failEvents == ["error", "*.failed"])
    #expect(settings.failConditions.map(\.text) == ["data.error", "data.n>3"])
    #expect(settings.conditions.isEmpty)
  }
}

struct `--format` {
  private static let line =
    #"{"event":"<e>","channel":"<c>","user_id":"<u>","id":"<i>","data":"a\u001bb\tc\r\nd\\e é"}"#

  private func write(
    _ text: String, terminator: UInt8 = 0x0A, forTerminal: Bool = false
  ) throws -> String {
    let output = ByteBuffer()
    let style = EventLineStyle(terminator: terminator, forTerminal: forTerminal)
    let template = TemplateText(try FormatTemplate(text), output: output, style: style)
    let time = WallTime(millisecondsSince1970: 1_763_689_171_121)
    template.begin(at: time, local: time.localText)
    withView(Array((Self.line + "\n").utf8)) { line in
      template.write(EventLine(line), number: 7) { "<w>" }
    }
    return output.view.text
  }

  @Test func `each placeholder stands for its field`() throws {
    #expect(try write("%e|%c|%i|%u|%w") == "<e>|<c>|<i>|<u>|<w>\n")
    let local = WallTime(millisecondsSince1970: 1_763_689_171_121).localText
    #expect(try write("%t %T %s %N") == "2025-11-21T01:39:31.121Z \(local) 1763689171.121 7\n")
    #expect(try write("100%% %j!") == "100% \(Self.line)!\n")
    #expect(try write(#"a\tb\nc\0d\\e"#) == "a\tb\nc\0d\\e\n")
    #expect(try write("%j", terminator: 0) == Self.line + "\0")
  }

  @Test func `on a terminal control characters of events are shown`() throws {
    #expect(try write("%d") == "a\u{1B}b\tc\r\nd\\e é\n")
    #expect(try write("%d", forTerminal: true) == #"a\u{1b}b\tc\r\nd\e é"# + "\n")
  }

  @Test func `a field of a table holds no sign that divides fields or lines`() throws {
    #expect(try write("%D") == "a\u{1B}b" + #"\tc\r\nd\\e é"# + "\n")
  }

  @Test func `the time is taken when it is shown`() throws {
    #expect(try FormatTemplate("%t").usesTime)
    #expect(try FormatTemplate("%s").usesTime)
    #expect(try FormatTemplate("%T").usesTime)
    #expect(try !FormatTemplate("%e %%t").usesTime)
  }

  @Test(arguments: ["%x", "%", #"\x"#, #"\"#])
  func `other letters in --format are refused`(text: String) {
    #expect(refusal { _ = try FormatTemplate(text) }?.contains("--format") == true)
  }

  @Test func `a template excludes another format`() throws {
    #expect(try subscribe("a --key k -F %e").printing.form.template == FormatTemplate("%e"))
    #expect(refusal { _ = try subscribe("a --key k -F %e -o raw") }?.contains("exclude") == true)
  }
}

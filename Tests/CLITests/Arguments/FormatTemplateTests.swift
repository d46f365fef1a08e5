import PusherCore
import Testing

@testable import pusher_cli

@Suite("--format")
struct FormatTemplateTests {
  private func write(
    _ text: String, terminator: UInt8 = 0x0A, forTerminal: Bool = false
  ) throws -> String {
    let output = ByteBuffer()
    var style = EventLineStyle()
    style.terminator = terminator
    style.forTerminal = forTerminal
    try FormatTemplate(text).write(to: output, style: style) { field in
      field == .data ? "a\u{1B}b" : "<\(field.rawValue)>"
    } writeLine: {
      output.append("{}" as StaticString)
      output.append(terminator)
    }
    return output.view.text
  }

  @Test func `each placeholder stands for its field`() throws {
    #expect(try write("%e|%c|%i|%u|%w") == "<e>|<c>|<i>|<u>|<w>\n")
    #expect(try write("%t %T %s %N %D") == "<t> <T> <s> <N> <D>\n")
    #expect(try write("100%% %j!") == "100% {}!\n")
    #expect(try write(#"a\tb\nc\0d\\e"#) == "a\tb\nc\0d\\e\n")
    #expect(try write("%j", terminator: 0) == "{}\0")
  }

  @Test func `on a terminal control characters of events are shown`() throws {
    #expect(try write("%d") == "a\u{1B}b\n")
    #expect(try write("%d", forTerminal: true) == "a\\u{1b}b\n")
  }

  @Test func `a field of a table holds no sign that divides fields or lines`() {
    #expect(Printer.field(of: "a\tb\r\nc\\d é") == #"a\tb\r\nc\\d é"#)
  }

  @Test func `the time is taken when it is shown`() throws {
    #expect(try FormatTemplate("%t").usesTime)
    #expect(try FormatTemplate("%s").usesTime)
    #expect(try FormatTemplate("%T").usesTime)
    #expect(try !FormatTemplate("%e %%t").usesTime)
  }

  @Test(arguments: ["%x", "%", #"\x"#, #"\"#])
  func `other letters are refused`(text: String) {
    #expect(refusal { _ = try FormatTemplate(text) }?.contains("--format") == true)
  }

  @Test func `it excludes another format`() throws {
    #expect(try subscribe("a --key k -F %e").printing.form.template == FormatTemplate("%e"))
    #expect(refusal { _ = try subscribe("a --key k -F %e -o raw") }?.contains("exclude") == true)
  }
}

import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

@Suite("--format")
struct FormatTemplateTests {
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
    #expect(
      try write("%t %T %s %N") == "2025-11-21T01:39:31.121Z \(local) 1763689171.121 7\n")
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
  func `other letters are refused`(text: String) {
    #expect(refusal { _ = try FormatTemplate(text) }?.contains("--format") == true)
  }

  @Test func `a template excludes another format`() throws {
    #expect(try subscribe("a --key k -F %e").printing.form.template == FormatTemplate("%e"))
    #expect(refusal { _ = try subscribe("a --key k -F %e -o raw") }?.contains("exclude") == true)
  }
}

import Foundation
import Testing

@testable import pusher_cli

@Suite("The manual's options, from the flag table") struct ManualTests {
  static let page = DocumentedTable.root.appending(path: "man/pusher-cli.1")

  /// `scripts/manual.sh` sets `PUSHER_CLI_WRITE_MANUAL`, so that this test writes the manual.
  @Test func `the manual is what its template and the flag table make`() throws {
    let template = try String(contentsOf: Self.page.appendingPathExtension("in"), encoding: .utf8)
    let made = ManualPage(template: template).text
    if ProcessInfo.processInfo.environment["PUSHER_CLI_WRITE_MANUAL"] != nil {
      try made.write(to: Self.page, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: Self.page, encoding: .utf8) == made, "run 'scripts/manual.sh'")
    #expect(!made.contains("@options") && !made.contains("{default}") && !made.contains("`"))
  }

  @Test func `every flag has a text, which ends as a sentence and tells what counts without it`() {
    for flag in Flag.all {
      let texts = Flag.all.filter { $0 == flag && !$0.manual.isEmpty }.map(\.manual)
      #expect(!texts.isEmpty, "\(flag.spelling)")
      #expect(flag.manual.isEmpty || flag.manual.hasSuffix("."), "\(flag.spelling)")
      #expect(!flag.manual.contains("  "), "\(flag.spelling)")
      #expect(flag.manual.contains("{default}") == (flag.standard != nil), "\(flag.spelling)")
    }
  }

  @Test func `words of the text become what mdoc calls them`() {
    let flag = Flag(
      "cacert", letter: "c", .choice(["auto", "no"], "WHEN"), of: [.sse], in: .voice,
      default: "no", summary: "",
      manual: """
        With WHEN, `auto` or `--output raw` (see `sse`, sh(1), `STAGED FAULTS`) and --count: `a word`, `?`, `x_y`, NO_COLOR, \
        `@FILE`, `@-`, `/app`. The `\\n` of "it"; {default} is it.
        """)
    #expect(
      ManualPage.entry(of: flag) == """
        .It Fl c , Fl -cacert Ar when
        With
        .Ar when ,
        .Cm auto
        or
        .Fl -output Cm raw
        (see
        .Cm sse ,
        .Xr sh 1 ,
        .Sx STAGED FAULTS )
        and
        .Fl -count :
        .Ql a word ,
        .Ql \\&? ,
        .Va x_y ,
        .Ev NO_COLOR ,
        .Ar @file ,
        .Ql \\&@- ,
        .Pa /app .
        The
        .Ql \\&\\en
        of \\(dqit\\(dq; no is it.
        """)
  }
}

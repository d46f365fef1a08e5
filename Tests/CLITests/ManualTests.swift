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

/// The manual, made from its template and the flag table.
///
/// A template line `@options GROUP [+COMMAND] [-COMMAND]` stands for the entries of that group's
/// flags, in table order. `+` keeps the flags that a command takes, `-` the others. `@topic NAME`
/// stands for the page of `help NAME`, as it is printed.
struct ManualPage {
  let text: String

  init(template: String) {
    let notice = ".\\\" Written by 'scripts/manual.sh' from man/pusher-cli.1.in and the flag table."
    let lines = template.split(separator: "\n", omittingEmptySubsequences: false)
    text = ([notice] + lines.flatMap(Self.expanded)).joined(separator: "\n")
  }

  private static func expanded(_ line: Substring) -> [String] {
    if line.hasPrefix("@topic "),
      let page = HelpPage.topics.first(where: { line.hasSuffix($0.name) })
    {
      let lines = ManualEntry.escaped(page.page.text).split(
        separator: "\n", omittingEmptySubsequences: false)
      return [".Bd -literal"] + lines.dropLast().map { $0.hasPrefix(".") ? "\\&\($0)" : String($0) }
        + [".Ed"]
    }
    guard line.hasPrefix("@options ") else { return [String(line)] }
    let words = line.split(separator: " ").dropFirst()
    let flags = Flag.all.filter { flag in
      guard "\(flag.group)" == words.first ?? "", !flag.manual.isEmpty else { return false }
      return words.dropFirst().allSatisfy { word in
        let isTaken = flag.commands.contains { $0.rawValue == word.dropFirst() }
        return isTaken == word.hasPrefix("+")
      }
    }
    return flags.map(entry)
  }

  static func entry(of flag: Flag) -> String { ManualEntry(flag).lines.joined(separator: "\n") }
}

private struct ManualEntry {
  let flag: Flag
  private(set) var lines: [String] = []
  private var pending = ""

  private static let width = 80
  private static let closing: Set<Character> = [".", ",", ";", ":", ")"]

  init(_ flag: Flag) {
    self.flag = flag
    let heads = flag.letter.map { ["Fl \($0)"] } ?? []
    let names = ["Fl -\(flag.name)"] + (flag.isOnByDefault ? ["Fl -no-\(flag.name)"] : [])
    let value = flag.takesValue ? " Ar \(argument)" : ""
    lines.append(".It " + (heads + names).joined(separator: " , ") + value)
    for word in Self.words(flag.filledManual) { add(word) }
    endLine()
  }

  private var argument: String {
    ["CMD": "command", "K=V": "name=value"][flag.metavariable] ?? flag.metavariable.lowercased()
  }

  private static func words(_ text: String) -> [String] {
    var words = [""]
    var isLiteral = false
    for character in text {
      if character == "`" { isLiteral.toggle() }
      if character.isWhitespace && !isLiteral {
        words.append("")
      } else {
        words[words.count - 1].append(character)
      }
    }
    return words.filter { !$0.isEmpty }
  }

  private mutating func add(_ word: String) {
    var core = word[...]
    let opening = core.hasPrefix("(") ? "( " : ""
    if !opening.isEmpty { core = core.dropFirst() }
    var after: [String] = []
    while let last = core.last, Self.closing.contains(last), Self.page(core) == nil {
      after.insert(String(core.removeLast()), at: 0)
    }
    guard let (name, arguments) = macro(core) else { return addText(word) }
    endLine()
    let parts = [".\(name) \(opening)\(arguments)".trimmed] + after
    lines.append(parts.joined(separator: " "))
  }

  private mutating func addText(_ word: String) {
    if pending.count + 1 + word.count > Self.width { endLine() }
    pending += (pending.isEmpty ? "" : " ") + Self.escaped(word)
    // mdoc wants each sentence on a new line.
    if word.hasSuffix(".") { endLine() }
  }

  private mutating func endLine() {
    let isControl = pending.hasPrefix(".") || pending.hasPrefix("'")
    if !pending.isEmpty { lines.append((isControl ? "\\&" : "") + pending) }
    pending = ""
  }

  static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\e").replacing("\"", with: "\\(dq")
  }

  private func macro(_ word: Substring) -> (name: String, arguments: String)? {
    if word.first == "`", word.last == "`", word.count > 2 {
      return literal(word.dropFirst().dropLast())
    }
    if word == flag.metavariable { return ("Ar", argument) }
    if word.hasPrefix("--") { return ("Fl", String(word.dropFirst())) }
    if word.hasPrefix("PUSHER_CLI_")
      || word.contains("_") && Environment.names.contains(String(word))
    {
      return ("Ev", String(word))
    }
    return Self.page(word).map { ("Xr", $0) }
  }

  private static func page(_ word: Substring) -> String? {
    word.wholeMatch(of: /([a-z]+)\(([0-9])\)/).map { "\($0.output.1) \($0.output.2)" }
  }

  private func literal(_ text: Substring) -> (name: String, arguments: String) {
    let words = text.split(separator: " ")
    let isKnown = Command.words.contains(String(text)) || flag.offeredValues.contains(String(text))
    switch text {
    case "-": return ("Fl", "")
    case _ where text.hasPrefix("--"):
      let values = words.dropFirst().map { $0 == "-" ? "Ar -" : "Cm \($0)" }
      return ("Fl", ([String(words[0].dropFirst())] + values).joined(separator: " "))
    case _ where isKnown: return ("Cm", String(text))
    case _ where text.wholeMatch(of: /@[A-Z]+/) != nil: return ("Ar", text.lowercased())
    case _ where text.hasPrefix("/") || text == ".env": return ("Pa", String(text))
    case _ where text.wholeMatch(of: /[a-z]+(_[a-z]+)+/) != nil: return ("Va", String(text))
    case _ where words.count > 1 && words.allSatisfy { $0.allSatisfy(\.isUppercase) }:
      return ("Sx", String(text))
    default:
      // Short words may be macro names or delimiters.
      let mark = text.count < 4 && !text.allSatisfy { $0.isLowercase || $0.isNumber } ? "\\&" : ""
      return ("Ql", mark + Self.escaped(String(text)))
    }
  }
}

extension String {
  fileprivate var trimmed: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}

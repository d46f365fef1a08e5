import Foundation
import Testing

@testable import pusher_cli

struct `The flag table` {
  private let names = Set(Flag.all.map(\.name))

  @Test func `every name has one row a command`() {
    #expect(names.count > 80)
    for command in Command.allCases {
      let flags = Flag.of(command)
      #expect(Set(flags.map(\.name)).count == flags.count)
      let letters = flags.compactMap(\.letter)
      #expect(Set(letters).count == letters.count)
    }
  }

  @Test func `rows that share a name or letter agree, since the command may come later`() {
    for flag in Flag.all {
      for other in Flag.all where other.name == flag.name {
        #expect(other.letter == flag.letter && other.takesValue == flag.takesValue)
        #expect(other.allowsEmpty == flag.allowsEmpty)
      }
      for other in Flag.all where flag.letter != nil && other.letter == flag.letter {
        #expect(other.name == flag.name, "-\(flag.letter ?? " ")")
      }
    }
  }

  @Test func `a metavariable stands with every value and nowhere else`() {
    for flag in Flag.all {
      #expect(flag.takesValue == !flag.metavariable.isEmpty, "\(flag.spelling)")
      #expect(flag.metavariable == flag.metavariable.uppercased())
    }
  }

  @Test func `the default of a flag could be typed`() {
    for flag in Flag.all {
      #expect(flag.standard.flatMap(flag.fault) == nil, "\(flag.spelling)")
      #expect(flag.standard == nil || flag.takesValue)
    }
  }

  @Test func `a flag that takes another one back names one that does the same`() {
    for flag in Flag.all {
      if let cancelled = flag.cancels { #expect(Flag.named(cancelled)?.cancels == flag.name) }
    }
  }

  @Test func `what a row excludes or needs is another flag of its commands, said in one row`() {
    for flag in Flag.all {
      for name in flag.excludes.map(\.name) + flag.needs {
        let others = Flag.all.filter {
          $0.name == name && !$0.commands.isDisjoint(with: flag.commands)
        }
        #expect(!others.isEmpty && name != flag.name, "\(flag.name) and \(name)")
        #expect(!others.contains { $0.excludes.contains { $0.name == flag.name } }, "\(name)")
      }
    }
    #expect(Flag.all.contains { $0.excludes.count > 2 } && Flag.all.contains { $0.needs.count > 1 })
  }

  @Test func `a flag takes back what it excludes, whichever row says so`() {
    #expect(Set(Flag.rivals(of: "forward", for: .subscribe)) == ["exec"])
    #expect(Set(Flag.rivals(of: "exec", for: .subscribe)) == ["forward"])
    #expect(Set(Flag.rivals(of: "output", for: .sse)) == ["format", "field"])
    #expect(Set(Flag.rivals(of: "ipv4", for: .sse)) == ["ipv6"])
    #expect(Flag.rivals(of: "rate", for: .subscribe).isEmpty)
  }

  @Test func `a variable stands for one flag`() {
    let own = Set(Flag.all.map(\.name)).map { name in
      Set(Flag.all.filter { $0.name == name }.flatMap(\.variables))
    }
    #expect(own.reduce(0) { $0 + $1.count } == Set(own.joined()).count)
    #expect(Set(Environment.names).count == Environment.names.count)
  }

  @Test func `no name begins with no-, and only five are the names of commands too`() {
    #expect(names.allSatisfy { !$0.hasPrefix("no-") })
    let both = names.filter { Command(rawValue: $0) != nil }
    #expect(both == ["help", "version", "webhook", "config", "channels"])
  }
}

/// The program refuses flags that contradict each other, and flags that need another one; a table
/// lists them.
struct `Flags that do not go together` {
  /// A command, a flag, and the other flag.
  struct Pair: CustomTestStringConvertible, Sendable {
    let command: Command
    let flag: Flag
    let other: Flag

    var testDescription: String { "\(command.rawValue) \(flag.spelling) \(other.spelling)" }
  }

  private static func pairs(_ names: (Flag) -> [String]) -> [Pair] {
    Command.allCases.flatMap { command in
      Flag.of(command).flatMap { flag in
        names(flag).compactMap { name in
          Flag.of(command).first { $0.name == name }.map {
            Pair(command: command, flag: flag, other: $0)
          }
        }
      }
    }
  }

  private static let exclusions = pairs { $0.excludes.map(\.name) }
  private static let needs = pairs(\.needs)

  private static func words(_ flag: Flag) -> [String] {
    switch flag.value {
    case .toggle, .counter: [flag.spelling]
    case .text: [flag.spelling, "x"]
    case .integer(let range, _): [flag.spelling, "\(range.lowerBound)"]
    case .duration: [flag.spelling, "1s"]
    case .size(let range): [flag.spelling, "\(range.lowerBound)"]
    case .choice(let choices, _): [flag.spelling, choices[0]]
    }
  }

  private func mistake(_ command: Command, _ flags: [Flag]) -> String {
    Preview([command.rawValue] + flags.flatMap(Self.words)).message
  }

  @Test(arguments: exclusions)
  func `flags that exclude each other are refused and named, in either order`(pair: Pair) {
    for flags in [[pair.flag, pair.other], [pair.other, pair.flag]] {
      let text = mistake(pair.command, flags)
      #expect(text.contains(pair.flag.spelling) && text.contains(pair.other.spelling), "\(text)")
    }
  }

  @Test(arguments: needs)
  func `a flag without the one that it needs is refused, and both are named`(pair: Pair) {
    let text = mistake(pair.command, [pair.flag])
    #expect(text.contains("\(pair.flag.spelling) needs --"), "\(text)")
    #expect(text.contains(pair.other.spelling), "\(text)")
  }

  @Test func `an option that was typed takes back what it excludes in a file`() throws {
    let files = PretendFiles(contents: ["c": "[trigger]\nspeed = 2\n[subscribe]\nformat = %e\n"])
    let sent = try trigger("--local --config c --rate 5 -e x -c a -", files: files)
    #expect(sent.rate == 5 && sent.speed == nil)
    let form = try subscribe("--local --config c -o raw a", files: files).printing.form
    #expect(form.output == .raw && form.template == nil)
  }

  @Test func `flags that exclude each other in one part of a file are refused`() {
    let files = PretendFiles(contents: ["c": "[trigger]\nspeed = 2\nrate = 5\n"])
    #expect(
      refusal { _ = try trigger("--local --config c -", files: files) }
        == "--rate and --speed exclude each other; give one")
  }

  @Test func `flags that exclude or need others are all tried`() {
    #expect(Self.exclusions.count > 40 && Self.needs.count > 30)
  }

  @Test func `no source beside the table lists names of flags`() throws {
    let names = Set(Flag.all.map(\.name))
    let folder = Documentation.folder + "/Sources/pusher-cli/"
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder)
      .filter { $0.hasSuffix(".swift") && !$0.contains("/Flags/") }
    #expect(files.count > 50)
    for path in files {
      for line in try String(contentsOfFile: folder + path, encoding: .utf8).split(separator: "\n")
      {
        let literals = line.split(separator: "\"").map(String.init)
        let isList = literals.indices.dropFirst().dropLast().contains {
          literals[$0] == ", " && names.contains(literals[$0 - 1])
            && names.contains(literals[$0 + 1])
        }
        #expect(!isList, "\(path): \(line)")
      }
    }
  }
}

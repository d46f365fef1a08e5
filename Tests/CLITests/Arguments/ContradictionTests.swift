import Foundation
import Testing

@testable import pusher_cli

/// The program refuses flags that contradict each other, and flags that need another one; a table
/// lists them.
@Suite(.runsPrograms) struct `Flags that do not go together` {
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
  func `two that exclude each other are refused, and both are named, in either order`(pair: Pair) {
    for flags in [[pair.flag, pair.other], [pair.other, pair.flag]] {
      let text = mistake(pair.command, flags)
      #expect(text.contains(pair.flag.spelling) && text.contains(pair.other.spelling), "\(text)")
    }
  }

  @Test(arguments: needs)
  func `one without the flag that it needs is refused, and both are named`(pair: Pair) {
    let text = mistake(pair.command, [pair.flag])
    #expect(text.contains("\(pair.flag.spelling) needs --"), "\(text)")
    #expect(text.contains(pair.other.spelling), "\(text)")
  }

  @Test(arguments: [
    ("trigger --rate 5 --speed 2 -", "--rate and --speed exclude each other; give one"),
    ("config trigger --speed 2 --rate 5", "--rate and --speed exclude each other; give one"),
    ("subscribe --local a --exec-jobs 2", "--exec-jobs needs --exec"),
  ])
  func `a contradiction ends the program with 2 and one line`(line: String, message: String) throws
  {
    let result = try PusherCLI.start(line.split(separator: " ").map(String.init)).result()
    #expect(result.ending == .exited(2) && result.output.isEmpty)
    #expect(result.errorText == "pusher-cli: error: \(message)\n")
  }

  @Test func `an option that was typed takes back what it excludes in a file`() throws {
    let files = PretendFiles(contents: ["c": "[trigger]\nspeed = 2\n[subscribe]\nformat = %e\n"])
    let line = "trigger --local --config c --rate 5 -e x -c a -"
    let trigger = try TriggerSettings(arguments(line), environment: [:], files: files.access)
    #expect(trigger.rate == 5 && trigger.speed == nil)
    let subscribe = try SubscribeSettings(
      arguments("subscribe --local --config c -o raw a"), environment: [:], files: files.access)
    #expect(subscribe.printing.form.output == .raw && subscribe.printing.form.template == nil)
  }

  @Test func `two that exclude each other in one part of a file are refused`() {
    let files = PretendFiles(contents: ["c": "[trigger]\nspeed = 2\nrate = 5\n"])
    #expect(
      refusal {
        _ = try TriggerSettings(
          arguments("trigger --local --config c -"), environment: [:], files: files.access)
      } == "--rate and --speed exclude each other; give one")
  }

  @Test func `all of the table is tried`() {
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

import Testing

@testable import pusher_cli

@Suite struct `The flag table` {
  @Test func `every name has a row, and one a command`() {
    for name in FlagName.allCases {
      #expect(Flags.all.contains { $0.name == name }, "\(name.rawValue)")
    }
    for command in Command.allCases {
      let flags = Flags.of(command)
      #expect(Set(flags.map(\.name)).count == flags.count)
      let letters = flags.compactMap(\.letter)
      #expect(Set(letters).count == letters.count)
    }
  }

  @Test func `rows that share a name or letter agree, since the command may come later`() {
    for flag in Flags.all {
      for other in Flags.all where other.name == flag.name {
        #expect(other.letter == flag.letter && other.takesValue == flag.takesValue)
        #expect(other.allowsEmpty == flag.allowsEmpty)
      }
      for other in Flags.all where flag.letter != nil && other.letter == flag.letter {
        #expect(other.name == flag.name, "-\(flag.letter ?? " ")")
      }
    }
  }

  @Test func `a metavariable stands with every value and nowhere else`() {
    for flag in Flags.all {
      #expect(flag.takesValue == !flag.metavariable.isEmpty, "\(flag.spelling)")
      #expect(flag.metavariable == flag.metavariable.uppercased())
    }
  }

  @Test func `summaries follow the voice`() {
    for flag in Flags.all {
      #expect(!flag.summary.isEmpty && !flag.summary.hasSuffix("."), "\(flag.spelling)")
      #expect(!flag.commands.isEmpty)
    }
  }

  @Test func `no name begins with no-, and only three are the names of commands too`() {
    for name in FlagName.allCases { #expect(!name.rawValue.hasPrefix("no-")) }
    let both = FlagName.allCases.map(\.rawValue).filter { Command(rawValue: $0) != nil }
    #expect(Set(both) == ["help", "version", "webhook"])
  }

  @Test func `the helper letter is never host`() {
    #expect(Flags.lettered("h")?.name == .help)
    #expect(Flags.lettered("V")?.name == .version)
  }
}

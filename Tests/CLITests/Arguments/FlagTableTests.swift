import Testing

@testable import pusher_cli

@Suite struct `The flag table` {
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

  @Test func `what counts when nothing is given is what could be typed`() {
    for flag in Flag.all {
      #expect(flag.standard.flatMap(flag.fault) == nil, "\(flag.spelling)")
      #expect(flag.standard == nil || flag.takesValue)
    }
  }

  @Test func `a flag that stands for another, or takes one back, names one that there is`() throws {
    for flag in Flag.all {
      if let cancelled = flag.cancels { #expect(Flag.named(cancelled)?.cancels == flag.name) }
      guard let (name, value) = flag.standsFor else { continue }
      #expect(try #require(Flag.named(name)).fault(in: value) == nil)
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
    #expect(
      Flag.all.contains { $0.excludes.count > 2 } && Flag.all.contains { $0.needs.count > 1 })
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

  @Test func `the helper letter is never host`() {
    #expect(Flag.withLetter("h") == .help)
    #expect(Flag.withLetter("V") == .version)
  }
}

/// What was typed for one command: each value checked by its kind, nothing resolved yet.
struct TypedArguments: Equatable, Sendable {
  let command: Command
  /// The words behind the command that are no options.
  private(set) var operands: [String] = []
  private var values: [FlagName: [String]] = [:]
  private var toggles: [FlagName: Bool] = [:]
  private var counters: [FlagName: Int] = [:]

  /// Sorts the arguments of `command` by flag.
  ///
  /// - Throws: ``UsageError`` for a flag of another command and for a value its kind refuses.
  init(_ command: Command, _ arguments: [Argument]) throws(UsageError) {
    self.command = command
    for argument in arguments {
      switch argument {
      case .operand(let word): operands.append(word)
      case .value(let name, let value): try record(value, for: row(of: name))
      case .on(let name): turn(on: try row(of: name))
      case .off(let name): turn(off: try row(of: name))
      }
    }
  }

  /// The last value given.
  func text(_ name: FlagName) -> String? { values[name]?.last }

  /// All values given, in order.
  func texts(_ name: FlagName) -> [String] { values[name] ?? [] }

  func integer(_ name: FlagName) -> Int? { text(name).flatMap(Quantities.integer) }
  func size(_ name: FlagName) -> Int? { text(name).flatMap(Quantities.size) }
  func duration(_ name: FlagName) -> Duration? { text(name).flatMap(Quantities.duration) }

  /// Whether a toggle is on: as typed, else as the table says.
  func isOn(_ name: FlagName) -> Bool {
    toggles[name] ?? Flags.named(name, for: command)?.isOnByDefault ?? false
  }

  /// Whether a toggle was turned on or off; nil when it was not named.
  func choice(_ name: FlagName) -> Bool? { toggles[name] }

  /// How often a counter was given.
  func count(_ name: FlagName) -> Int { counters[name] ?? 0 }

  private func row(of name: FlagName) throws(UsageError) -> Flag {
    guard let flag = Flags.named(name, for: command) else {
      throw UsageError("unknown option '--\(name.rawValue)'", helpFor: command)
    }
    let isTaken = Flags.all.contains { $0.name == name && $0.isOfConnection }
    guard flag.commands.contains(command) || isTaken else {
      let owners = Command.allCases.filter { owner in
        Flags.of(owner).contains { $0.name == name }
      }
      throw UsageError(
        "\(command.rawValue) has no option \(flag.spelling) "
          + "(it belongs to \(Self.list(owners.map(\.rawValue))))",
        helpFor: command)
    }
    return flag
  }

  private static func list(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.joined() }
    return words.dropLast().joined(separator: ", ") + " and " + last
  }

  private mutating func record(_ value: String, for flag: Flag) throws(UsageError) {
    if let fault = flag.fault(in: value) {
      throw UsageError("option \(flag.spelling): \(fault)", helpFor: command)
    }
    values[flag.name, default: []].append(value)
  }

  private mutating func turn(on flag: Flag) {
    if let cancelled = flag.cancels {
      toggles[cancelled] = nil
      counters[cancelled] = nil
    }
    if let pair = flag.standsFor {
      values[pair.name, default: []].append(pair.value)
    } else if flag.value == .counter {
      counters[flag.name, default: 0] += 1
    } else {
      toggles[flag.name] = true
    }
  }

  private mutating func turn(off flag: Flag) {
    if let pair = flag.standsFor {
      values[pair.name]?.removeAll { $0 == pair.value }
    } else if flag.value == .counter {
      counters[flag.name] = nil
    } else {
      toggles[flag.name] = false
    }
  }
}

extension Flag {
  /// What is wrong with a value of this flag; nil when nothing is.
  fileprivate func fault(in text: String) -> String? {
    switch value {
    case .toggle, .counter, .text:
      return nil
    case .integer(let range):
      guard let number = Quantities.integer(text), range.contains(number) else {
        return "'\(text)' is not a whole number \(Self.words(for: range))"
      }
    case .duration:
      guard Quantities.duration(text) != nil else {
        return "'\(text)' is not a time such as 500ms, 30s, 5m or 1h30m"
      }
    case .size(let range):
      guard let bytes = Quantities.size(text), range.contains(bytes) else {
        return
          "'\(text)' is not a size from \(range.lowerBound >> 10)k to \(range.upperBound >> 30)G"
      }
    case .choice(let words):
      guard words.contains(text) else {
        let clause = Suggestion.clause(for: text, in: words)
        return "'\(text)' is not one of \(words.joined(separator: ", "))\(clause)"
      }
    }
    return nil
  }

  private static func words(for range: ClosedRange<Int>) -> String {
    range.upperBound == .max
      ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
  }
}

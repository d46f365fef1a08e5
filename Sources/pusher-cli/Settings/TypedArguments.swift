/// The typed options of one command: checked by kind, but not resolved.
struct TypedArguments: Equatable, Sendable {
  let command: Command
  private(set) var operands: [String] = []
  /// By flag name.
  private var values: [String: [String]] = [:]
  private var toggles: [String: Bool] = [:]
  private var counters: [String: Int] = [:]
  /// Origins of values that were not typed.
  private var origins: [String: String] = [:]
  /// Flags whose value from a file ranks below the program's own variable.
  private var weak: Set<String> = []

  init(_ command: Command, _ arguments: [Argument]) throws(UsageError) {
    self.command = command
    for argument in arguments {
      switch argument {
      case .operand(let word): operands.append(word)
      case .value(let flag, let value): try record(value, for: row(of: flag))
      case .on(let flag): set(try row(of: flag), true)
      case .off(let flag): set(try row(of: flag), false)
      }
    }
  }

  func text(_ flag: Flag) -> String? { values[flag.name]?.last }

  func setting(_ flag: Flag) -> Setting? {
    text(flag).map { Setting(origin: origin(flag) ?? flag.spelling, value: $0) }
  }

  /// Returns the file and line of a value; `nil` if it was typed or not given.
  func origin(_ flag: Flag) -> String? { origins[flag.name] }

  /// Returns true if the value comes from a file that no option named.
  func isWeak(_ flag: Flag) -> Bool { weak.contains(flag.name) }

  /// Takes the options of a file for this command, except those that were typed or are
  /// contradicted.
  ///
  /// - Parameter isNamed: True if an option named the section.
  mutating func fill(_ lines: [ConfigurationFile.Line], isNamed: Bool) throws(UsageError) {
    let given = Set(values.keys).union(toggles.keys).union(counters.keys)
    let rivals = Set(given.flatMap { Flags.rivals(of: $0, for: command) })
    var filled: [Flag] = []
    for line in lines {
      guard let flag = Flags.named(line.flag.name, for: command), flag.commands.contains(command),
        !given.contains(flag.name), !rivals.contains(flag.name)
      else { continue }
      filled.append(flag)
      if flag.takesValue {
        try record(line.value, for: flag)
      } else {
        set(flag, line.value == "true")
      }
      origins[flag.name] = line.origin
      if !isNamed { weak.insert(flag.name) }
    }
    try refuseExclusions(among: filled)
  }

  func texts(_ flag: Flag) -> [String] { values[flag.name] ?? [] }

  func value(_ flag: Flag) -> String? {
    text(flag) ?? Flags.named(flag.name, for: command)?.standard
  }

  func integer(_ flag: Flag) -> Int? { value(flag).flatMap(Quantities.integer) }
  func size(_ flag: Flag) -> Int? { value(flag).flatMap(Quantities.size) }
  func duration(_ flag: Flag) -> Duration? { value(flag).flatMap(Quantities.duration) }

  // The following require a default in the flag's row.

  func word(_ flag: Flag) -> String { standing(value(flag), flag) }
  func number(_ flag: Flag) -> Int { standing(integer(flag), flag) }
  func bytes(_ flag: Flag) -> Int { standing(size(flag), flag) }
  func time(_ flag: Flag) -> Duration { standing(duration(flag), flag) }

  private func standing<Value>(_ value: Value?, _ flag: Flag) -> Value {
    guard let value else { preconditionFailure("the row of \(flag.spelling) holds no value") }
    return value
  }

  func isOn(_ flag: Flag) -> Bool {
    choice(flag) ?? Flags.named(flag.name, for: command)?.isOnByDefault ?? false
  }

  func choice(_ flag: Flag) -> Bool? { toggles[flag.name] }
  func count(_ flag: Flag) -> Int { counters[flag.name] ?? 0 }
  func isGiven(_ flag: Flag) -> Bool { isGiven(flag.name) }

  private func isGiven(_ name: String) -> Bool {
    values[name]?.isEmpty == false || toggles[name] == true
  }

  /// Refuses flags that exclude each other; checks only `flags` if given.
  func refuseExclusions(among flags: [Flag]? = nil) throws(UsageError) {
    for flag in flags ?? Flags.of(command) where isGiven(flag) {
      for rival in flag.excludes where isGiven(rival.name) {
        if let flags, !flags.contains(where: { $0.name == rival.name }) { continue }
        throw rival.refusal(of: flag)
      }
    }
  }

  /// Refuses a flag without any of its required flags.
  func refuseMissingFlags() throws(UsageError) {
    for flag in Flags.of(command) where isGiven(flag) && !flag.needs.isEmpty {
      guard !flag.needs.contains(where: isGiven) else { continue }
      let known = flag.needs.filter {
        Flags.named($0, for: command)?.commands.contains(command) == true
      }
      let list = known.map { "--" + $0 }.joined(separator: " or ")
      throw UsageError("\(flag.spelling) needs \(list)")
    }
  }

  private func row(of named: Flag) throws(UsageError) -> Flag {
    guard let flag = Flags.named(named.name, for: command) else {
      throw UsageError("unknown option '\(named.spelling)'", helpFor: command)
    }
    if let reason = Flags.refusal(of: flag, written: flag.spelling, by: command) {
      throw UsageError(reason, helpFor: command)
    }
    return flag
  }

  /// - Parameter origin: The option or the file that implies the value; `nil` for a typed value.
  mutating func record(
    _ value: String, for flag: Flag, origin: String? = nil
  ) throws(UsageError) {
    if let fault = flag.fault(in: value) {
      throw UsageError("option \(flag.spelling): \(fault)", helpFor: command)
    }
    values[flag.name, default: []].append(value)
    if let origin { origins[flag.name] = origin }
  }

  /// Refuses typed options of a command that the rest of its arguments leaves unused.
  ///
  /// A configuration file may hold them.
  ///
  /// - Parameters:
  ///   - use: The command with its word, such as `webhook listen`.
  ///   - owner: The words with which the options have a use.
  func refuse(_ flags: [Flag], by use: String, of owner: String) throws(UsageError) {
    for flag in flags where isGiven(flag) || choice(flag) != nil {
      guard origin(flag) == nil else { continue }
      throw UsageError(
        "\(use) has no option \(flag.spelling) (it belongs to \(owner))", helpFor: command)
    }
  }

  private mutating func set(_ flag: Flag, _ isOn: Bool) {
    if isOn, let cancelled = flag.cancels {
      toggles[cancelled] = nil
      counters[cancelled] = nil
    }
    if let (name, value) = flag.standsFor {
      if isOn {
        values[name, default: []].append(value)
      } else {
        values[name]?.removeAll { $0 == value }
      }
    } else if flag.value == .counter {
      counters[flag.name] = isOn ? count(flag) + 1 : nil
    } else {
      toggles[flag.name] = isOn
    }
  }
}

/// The typed options of one command: each value checked by its kind, nothing resolved yet.
struct TypedArguments: Equatable, Sendable {
  let command: Command
  /// The words after the command that are not options.
  private(set) var operands: [String] = []
  /// By the names of flags.
  private var values: [String: [String]] = [:]
  private var toggles: [String: Bool] = [:]
  private var counters: [String: Int] = [:]
  /// Where the values of options come from that were not typed.
  private var origins: [String: String] = [:]
  /// Those of them that a variable made for them comes before.
  private var weak: Set<String> = []

  /// Sorts the arguments of `command` by flag.
  ///
  /// - Throws: ``UsageError`` for a flag of another command and for a value its kind refuses.
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

  /// The last value given.
  func text(_ flag: Flag) -> String? { values[flag.name]?.last }

  /// The same with the option's name, for messages.
  func setting(_ flag: Flag) -> Setting? {
    text(flag).map { Setting(origin: origin(flag) ?? flag.spelling, value: $0) }
  }

  /// Where in a file a flag's value stands; `nil` when it was typed, or is nowhere.
  func origin(_ flag: Flag) -> String? { origins[flag.name] }

  /// Whether a flag's value comes from a file that no option named.
  func isWeak(_ flag: Flag) -> Bool { weak.contains(flag.name) }

  /// Takes the options of a file that this command has, except where one was given that says the same or the opposite.
  ///
  /// - Parameter isNamed: Whether an option named the file's section.
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

  /// All values given, in order.
  func texts(_ flag: Flag) -> [String] { values[flag.name] ?? [] }

  /// The last value given, else the one that stands in the row of the command.
  func value(_ flag: Flag) -> String? {
    text(flag) ?? Flags.named(flag.name, for: command)?.standard
  }

  func integer(_ flag: Flag) -> Int? { value(flag).flatMap(Quantities.integer) }
  func size(_ flag: Flag) -> Int? { value(flag).flatMap(Quantities.size) }
  func duration(_ flag: Flag) -> Duration? { value(flag).flatMap(Quantities.duration) }

  // Of flags whose rows hold a value for when none is given.

  func word(_ flag: Flag) -> String { standing(value(flag), flag) }
  func number(_ flag: Flag) -> Int { standing(integer(flag), flag) }
  func bytes(_ flag: Flag) -> Int { standing(size(flag), flag) }
  func time(_ flag: Flag) -> Duration { standing(duration(flag), flag) }

  private func standing<Value>(_ value: Value?, _ flag: Flag) -> Value {
    guard let value else { preconditionFailure("the row of \(flag.spelling) holds no value") }
    return value
  }

  /// Whether a toggle is on: as typed, else as the table says.
  func isOn(_ flag: Flag) -> Bool {
    choice(flag) ?? Flags.named(flag.name, for: command)?.isOnByDefault ?? false
  }

  /// Whether a toggle was turned on or off; nil when it was not named.
  func choice(_ flag: Flag) -> Bool? { toggles[flag.name] }

  /// How often a counter was given.
  func count(_ flag: Flag) -> Int { counters[flag.name] ?? 0 }

  /// Whether it was typed at all.
  func isGiven(_ flag: Flag) -> Bool { isGiven(flag.name) }

  private func isGiven(_ name: String) -> Bool {
    values[name]?.isEmpty == false || toggles[name] == true
  }

  /// Refuses flags that exclude each other, as their rows say; those of a list where there is one.
  func refuseExclusions(among flags: [Flag]? = nil) throws(UsageError) {
    for flag in flags ?? Flags.of(command) where isGiven(flag) {
      for rival in flag.excludes where isGiven(rival.name) {
        if let flags, !flags.contains(where: { $0.name == rival.name }) { continue }
        throw rival.refusal(of: flag)
      }
    }
  }

  /// Refuses a flag without any of those that it needs.
  func refuseLonely() throws(UsageError) {
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

  /// Adds a value to those that were typed.
  mutating func record(_ value: String, for flag: Flag) throws(UsageError) {
    if let fault = flag.fault(in: value) {
      throw UsageError("option \(flag.spelling): \(fault)", helpFor: command)
    }
    values[flag.name, default: []].append(value)
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

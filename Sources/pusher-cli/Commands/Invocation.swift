internal import PusherCore

/// The request that the command line makes.
enum Invocation: Equatable {
  /// A page for standard output, and the exit status.
  case page(HelpPage, ExitStatus)
  case version(isVerbose: Bool)
  case command(TypedArguments)
  case config(TypedArguments, isJSON: Bool)
  case configPath
  case configProfiles(TypedArguments)
  case completion(CompletionScript)

  /// Reads the words after the program's name.
  ///
  /// `-h` and `--help` win over everything, even errors; then `--version`. A host after `-h` is
  /// wrong.
  ///
  /// - Throws: ``UsageError`` for the first word without a meaning.
  init(_ words: [String]) throws(UsageError) {
    guard !words.isEmpty else {
      self = .page(.overview, .usage)
      return
    }
    let survey = FirstPass(words)
    if let host = survey.hostAfterHelp {
      throw UsageError(
        "-h shows help and takes no host (found '\(host)'): give it with --host",
        helpFor: survey.command)
    }
    if survey.wantsHelp || survey.wantsAllHelp {
      let page = survey.command.map {
        HelpPage(for: $0, survey.operand, complete: survey.wantsAllHelp)
      }
      self = .page(page ?? .overview, .success)
      return
    }
    if survey.wantsVersion {
      self = .version(isVerbose: survey.wantsDetails)
      return
    }
    var lexer = ArgumentLexer(words, command: survey.command)
    var arguments: [Argument] = []
    var last = 0
    while let argument = try lexer.next() {
      arguments.append(argument)
      if lexer.optionsEnded { last += 1 }
    }
    try self.init(arguments, afterOptions: last)
  }

  /// - Parameter last: Number of operands after `--`.
  private init(_ arguments: [Argument], afterOptions last: Int) throws(UsageError) {
    var rest = arguments
    guard let word = Self.takeOperand(&rest) else {
      let names = Command.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError("no command: give one of \(names)", helpFor: nil)
    }
    guard let command = Command(word: word) else {
      let clause = Command.clause(for: word, in: Command.words)
      throw UsageError("unknown command '\(Command.shown(word))'\(clause)", helpFor: nil)
    }
    if command == .config {
      self = try Self.configuration(rest)
      return
    }
    let typed = try TypedArguments(command, rest)
    switch command {
    case .completion: self = .completion(try Self.script(typed.operands))
    case .help: self = .page(try HelpPage(named: typed.operands), .success)
    case .version: self = .version(isVerbose: typed[.verbose].count > 0)
    default: self = .command(typed)
    }
    if command == .version, let extra = typed.operands.first {
      throw UsageError("version takes no arguments (found '\(extra)')", helpFor: command)
    }
    if command == .serve, typed.operands.count > last, let extra = typed.operands.first {
      let isPort = Flag.servePort.fault(in: extra) == nil
      throw UsageError(
        "serve takes a command only after '--' (found '\(extra)')"
          + (isPort ? "; give --port \(extra)" : ""), helpFor: command)
    }
  }

  /// Removes the first operand, and returns it.
  private static func takeOperand(_ arguments: inout [Argument]) -> String? {
    for (index, argument) in arguments.enumerated() {
      guard case .operand(let word) = argument else { continue }
      arguments.remove(at: index)
      return word
    }
    return nil
  }

  /// Returns the value of `--color`, even if other words are invalid.
  static func color(in words: [String]) -> String? { FirstPass(words).color }

  /// Reads `config [COMMAND]`, which takes the command's options and `-o json`.
  private static func configuration(_ arguments: [Argument]) throws(UsageError) -> Invocation {
    var rest = arguments
    var command = Command.subscribe
    if let word = takeOperand(&rest) {
      if word == "path", rest.isEmpty { return .configPath }
      if word == "profiles" {
        let typed = try TypedArguments(command, rest)
        guard let extra = typed.operands.first else { return .configProfiles(typed) }
        throw UsageError("config profiles takes no arguments (found '\(extra)')", helpFor: .config)
      }
      guard let named = Command(word: word), Set<Command>.talking.contains(named) else {
        let words = Set<Command>.talking.map(\.rawValue).sorted() + ConfigSettings.words
        let clause = Command.clause(for: word, in: words)
        throw UsageError(
          "config takes a command, 'path' or 'profiles' (found '\(Command.shown(word))')\(clause)",
          helpFor: .config)
      }
      command = named
    }
    let isJSON = rest.contains(.value(.output, "json"))
    rest.removeAll { $0 == .value(.output, "json") }
    return .config(try TypedArguments(command, rest), isJSON: isJSON)
  }

  private static func script(_ words: [String]) throws(UsageError) -> CompletionScript {
    let shells = CompletionScript.allCases.map(\.rawValue)
    guard words.count == 1, let word = words.first else {
      throw UsageError(
        "completion takes one shell: \(shells.joined(separator: ", "))", helpFor: .completion)
    }
    guard let script = CompletionScript(rawValue: word) else {
      let clause = Suggestion.clause(for: word, in: shells)
      throw UsageError(
        "no completion for '\(word)', only for \(shells.joined(separator: ", "))\(clause)",
        helpFor: .completion)
    }
    return script
  }
}

/// The settings of a command that runs.
protocol RunnableSettings: CommandSettings {
  /// - Parameter origin: Where a command reads its settings again.
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus
}

/// A first pass over the words that ignores errors.
private struct FirstPass {
  var command: Command?
  /// The first argument after the command.
  var operand: String?
  var wantsHelp = false
  var wantsAllHelp = false
  var wantsVersion = false
  var wantsDetails = false
  var color: String?
  /// The word after `-h` if it looks like a host: other programs take a host there.
  var hostAfterHelp: String?

  init(_ words: [String]) {
    let options = words.prefix { $0 != "--" }
    hostAfterHelp =
      zip(options, options.dropFirst()).first { $0 == "-h" && Self.isHost($1) }?.1
    var lexer = ArgumentLexer(words)
    var seenOperand = false
    while true {
      let argument: Argument?
      do {
        argument = try lexer.next()
      } catch {
        continue
      }
      switch argument {
      case nil: return
      case .on(.help): wantsHelp = true
      case .on(.helpAll): wantsAllHelp = true
      case .on(.version): wantsVersion = true
      case .on(.verbose): wantsDetails = true
      case .value(.color, let word): color = word
      case .operand(let word) where !seenOperand:
        seenOperand = true
        command = Command(word: word)
      case .operand(let word) where operand == nil: operand = word
      default: break
      }
    }
  }

  /// Returns true for `localhost`, an address, or a name with a dot and a last label of letters.
  private static func isHost(_ word: String) -> Bool {
    func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
    func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
    let bytes = Array(word.utf8)
    let colons = bytes.filter { $0 == UInt8(ascii: ":") }.count
    if colons > 1 {
      return bytes.allSatisfy { isDigit($0) || ($0 | 0x20) &- 0x61 < 6 || ":.[]".utf8.contains($0) }
    }
    let host = bytes.prefix { $0 != UInt8(ascii: ":") }
    let port = bytes.dropFirst(host.count + 1)
    guard port.allSatisfy(isDigit), !port.isEmpty || colons == 0 else { return false }
    let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard
      labels.allSatisfy({ label in
        !label.isEmpty
          && label.allSatisfy { isDigit($0) || isLetter($0) || $0 == UInt8(ascii: "-") }
      }), let last = labels.last
    else { return false }
    return labels.count == 4 && labels.joined().allSatisfy(isDigit)
      || last.elementsEqual("localhost".utf8)
      || labels.count > 1 && last.count > 1 && last.allSatisfy(isLetter)
  }
}

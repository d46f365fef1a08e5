internal import PusherCore

@main struct Main {
  static func main() {
    StandardDescriptors.fill()
    Signals.prepare()
    ProcessMemory.hide()
    let words = ProgramArguments.words()
    Signals.end(run(words, environment: Environment.ofProcess()))
  }

  private static func run(_ words: [String], environment: [String: String]) -> ExitStatus {
    let color = ColorChoice.forMessages(
      typed: Invocation.color(in: words), in: Environment(environment))
    let early = Diagnostics(verbosity: .normal, color: color, environment: environment)
    do throws(UsageError) {
      switch try Invocation(words) {
      case .page(let page, let status): return early.print(page.text, status)
      case .version(let isVerbose):
        return early.print(isVerbose ? BuildFacts.text : Version.line)
      case .completion(let script): return early.print(script.text)
      case .configPath: return early.print(ConfigurationFile.path(Environment(environment)) + "\n")
      case .configProfiles(let typed):
        let names = try SettingsReader.profileNames(typed, environment: environment)
        return early.print(names.map { $0 + "\n" }.joined())
      case .config(let typed, let isJSON):
        return try run(
          { ConfigCommand.run($0, isJSON: isJSON, diagnostics: $1) }, typed, environment)
      case .command(let typed): return try run(typed, environment)
      }
    } catch {
      early.usage(error)
      return .usage
    }
  }

  private static func run(
    _ typed: TypedArguments, _ environment: [String: String]
  ) throws(UsageError) -> ExitStatus {
    switch typed.command {
    case .subscribe: try run(SubscribeCommand.run, typed, environment)
    case .sse: try run(StreamCommand.run, typed, environment)
    case .serve: try run(ServeCommand.run, typed, environment)
    case .trigger: try run(TriggerCommand.run, typed, environment)
    case .channels, .users, .terminate: try run(InspectCommand.run, typed, environment)
    case .auth, .sign, .verify: try run(SignCommand.run, typed, environment)
    case .webhook where typed.operands.first == "send":
      try run(WebhookSendCommand.run, typed, environment)
    case .webhook: try run(WebhookCommand.run, typed, environment)
    case .bench: try run(BenchCommand.run, typed, environment)
    case .check:
      try run(
        { settings, diagnostics in
          diagnostics.outcome { try CheckRun(settings, diagnostics: diagnostics).run() }
        }, typed, environment)
    case .config, .completion, .help, .version:
      preconditionFailure("these have no settings of their own")
    }
  }

  private static func run<Settings: CommandSettings>(
    _ command: (Settings, Diagnostics) -> ExitStatus, _ typed: TypedArguments,
    _ environment: [String: String]
  ) throws(UsageError) -> ExitStatus {
    try run({ settings, _, diagnostics in command(settings, diagnostics) }, typed, environment)
  }

  /// Runs a command that may read its settings again.
  private static func run<Settings: CommandSettings>(
    _ command: (Settings, SettingsOrigin, Diagnostics) -> ExitStatus, _ typed: TypedArguments,
    _ environment: [String: String]
  ) throws(UsageError) -> ExitStatus {
    let files = FileAccess.starting { path in
      let diagnostics = Diagnostics(
        verbosity: typed.isOn(.quiet) ? .quiet : .normal,
        color: ColorChoice.forMessages(typed: typed.text(.color), in: Environment(environment)),
        environment: environment)
      diagnostics.notice("waiting for input from '\(path)'")
    }
    var reader = try SettingsReader(typed, environment: environment, files: files)
    var shown = reader
    let settings = try Settings(&reader)
    let diagnostics = try voice(settings.common, environment)
    if diagnostics.isShown(.debug), let config = try? ConfigSettings(&shown) {
      for row in config.rows where row.origin != "default" {
        diagnostics.detail("\(row.name): \(row.value), from \(row.origin)")
      }
    }
    return command(settings, reader.origin, diagnostics)
  }

  private static func voice(
    _ common: CommonSettings, _ environment: [String: String]
  ) throws(UsageError) -> Diagnostics {
    let diagnostics = Diagnostics(
      verbosity: common.verbosity, color: common.color, environment: environment,
      trace: try common.traceFile.map(TraceFile.init))
    for warning in common.warnings {
      let text = warning.text
      warning.isSilenced ? diagnostics.warning(text) : diagnostics.loudWarning(text)
    }
    return diagnostics
  }
}

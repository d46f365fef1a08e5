internal import CProgram
internal import PusherCore

@main struct Main {
  static func main() {
    StandardDescriptors.fill()
    Signals.prepare()
    ProcessMemory.hide()
    Signals.end(run(words, environment: Environment.ofProcess()))
  }

  /// The words after the program's name; invalid UTF-8 becomes replacement characters.
  ///
  /// They are the arguments that the C library passes to constructors, so `/proc` is not needed.
  private static var words: [String] {
    let count = pusher_argument_count()
    guard count > 0 else { return Array(CommandLine.arguments.dropFirst()) }
    return (1..<max(count, 1)).compactMap { unsafe text(pusher_argument($0)) }
  }

  private static func text(_ start: UnsafePointer<CChar>?) -> String? {
    unsafe start.map { unsafe String(cString: $0) }
  }

  private static func run(_ words: [String], environment: [String: String]) -> ExitStatus {
    let color = ColorChoice.forMessages(
      typed: Invocation.color(in: words), in: Environment(environment))
    let early = Diagnostics(verbosity: .normal, color: color, environment: environment)
    do throws(UsageError) {
      switch try Invocation(words) {
      case .page(let page, let status): return early.print(page.text, status)
      case .version(let isVerbose):
        return early.print(isVerbose ? buildFacts : Version.line)
      case .completion(let script): return early.print(script.text)
      case .configPath: return early.print(ConfigurationFile.path(Environment(environment)) + "\n")
      case .configProfiles(let typed):
        let names = try Resolved.profileNames(typed, environment: environment)
        return early.print(names.map { $0 + "\n" }.joined())
      case .config(let typed, let isJSON):
        return try run(typed, environment) { (settings: ConfigSettings, _, diagnostics) in
          settings.print(isJSON: isJSON, diagnostics)
        }
      case .command(let typed): return try run(settings(of: typed), typed, environment)
      }
    } catch {
      early.usage(error)
      return .usage
    }
  }

  #if Redis
    private static let hasRedis = true
  #else
    private static let hasRedis = false
  #endif

  /// The answer of `version --verbose`: what a bug report must name.
  private static var buildFacts: String {
    let system = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
      guard let start = room.baseAddress else { return "unknown" }
      unsafe pusher_system(start, room.count)
      return unsafe String(cString: start)
    }
    let commit = unsafe text(pusher_commit()) ?? "unknown"
    let compiler = unsafe text(pusher_swift_version()) ?? "unknown"
    return """
      \(Version.line)\
      commit: \(commit)
      swift: \(compiler)
      openssl: \(TLSContext.libraryVersion)
      encrypted channels: \(SecretBox.isBuilt ? "yes" : "no")
      redis: \(hasRedis ? "yes" : "no")
      system: \(system)

      """
  }

  private static func settings(of typed: TypedArguments) -> any RunnableSettings.Type {
    switch typed.command {
    case .subscribe: SubscribeSettings.self
    case .sse: StreamSettings.self
    case .serve: ServeSettings.self
    case .trigger: TriggerSettings.self
    case .channels, .users, .terminate: InspectSettings.self
    case .auth, .sign, .verify: SignSettings.self
    case .webhook where typed.operands.first == WebhookWord.send.rawValue: WebhookSendSettings.self
    case .webhook: WebhookSettings.self
    case .bench: BenchSettings.self
    case .check: CheckSettings.self
    case .config, .completion, .help, .version:
      preconditionFailure("these have no settings of their own")
    }
  }

  private static func run<Settings: RunnableSettings>(
    _ type: Settings.Type, _ typed: TypedArguments, _ environment: [String: String]
  ) throws(UsageError) -> ExitStatus {
    try run(typed, environment) { (settings: Settings, resolved, diagnostics) in
      settings.perform(from: resolved, diagnostics)
    }
  }

  private static func run<Settings: CommandSettings>(
    _ typed: TypedArguments, _ environment: [String: String],
    _ command: (Settings, Resolved, Diagnostics) -> ExitStatus
  ) throws(UsageError) -> ExitStatus {
    let files = FileAccess.starting { path in
      let diagnostics = Diagnostics(
        verbosity: typed[.quiet].isOn ? .quiet : .normal,
        color: ColorChoice.forMessages(typed: typed[.color].text, in: Environment(environment)),
        environment: environment)
      diagnostics.notice("waiting for input from '\(path)'")
    }
    var resolved = try Resolved(typed, environment: environment, files: files)
    var shown = resolved
    let settings = try Settings(&resolved)
    let diagnostics = try voice(settings.common, environment)
    if diagnostics.isShown(.debug), let config = try? ConfigSettings(&shown) {
      for row in config.rows where row.origin != "default" {
        diagnostics.detail("\(row.name): \(row.value), from \(row.origin)")
      }
    }
    return command(settings, resolved, diagnostics)
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

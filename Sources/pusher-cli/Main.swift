internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Arguments and environment in, exit status out; nothing else.
@main
struct Main {
  static func main() {
    StandardDescriptors.fill()
    Signals.ignoreFileLimit()
    ProcessMemory.hide()
    Signals.outliveQuestions()
    let words = Array(CommandLine.arguments.dropFirst())
    exit(run(words, environment: Environment.ofProcess()).rawValue)
  }

  private static func run(_ words: [String], environment: [String: String]) -> ExitStatus {
    let early = Diagnostics(verbosity: .normal, environment: environment)
    do throws(UsageError) {
      switch try Invocation(words) {
      case .page(let page, let status): return HelpCommand.run(page, status: status, early)
      case .version: return HelpCommand.version(early)
      case .completion(let script): return early.print(script.text)
      case .subscribe(let typed):
        let settings = try SubscribeSettings(typed, environment: environment)
        let voice = try voice(
          settings.verbosity, settings.traceFile, settings.warnings, environment)
        return SubscribeCommand.run(settings, diagnostics: voice)
      case .sse(let typed):
        let settings = try StreamSettings(typed, environment: environment)
        let voice = try voice(
          settings.verbosity, settings.traceFile, settings.warnings, environment)
        return StreamCommand.run(settings, diagnostics: voice)
      case .serve(let typed):
        let settings = try ServeSettings(typed, environment: environment)
        let voice = try voice(settings.verbosity, nil, settings.warnings, environment)
        return ServeCommand.run(settings, diagnostics: voice)
      case .trigger(let typed):
        let settings = try TriggerSettings(typed, environment: environment)
        return TriggerCommand.run(settings, diagnostics: try voice(settings.common, environment))
      case .inspect(let typed):
        let settings = try InspectSettings(typed, environment: environment)
        return InspectCommand.run(settings, diagnostics: try voice(settings.common, environment))
      case .sign(let typed):
        let settings = try SignSettings(typed, environment: environment)
        return SignCommand.run(settings, diagnostics: try voice(settings.common, environment))
      case .webhook(let typed):
        let settings = try WebhookSettings(typed, environment: environment)
        return WebhookCommand.run(settings, diagnostics: try voice(settings.common, environment))
      }
    } catch {
      early.usage(error)
      return .usage
    }
  }

  private static func voice(
    _ common: CommonSettings, _ environment: [String: String]
  ) throws(UsageError) -> Diagnostics {
    try voice(common.verbosity, common.traceFile, common.warnings, environment)
  }

  /// The voice that was asked for, after it has said the warnings.
  private static func voice(
    _ verbosity: Verbosity, _ traceFile: String?, _ warnings: [Caution],
    _ environment: [String: String]
  ) throws(UsageError) -> Diagnostics {
    let diagnostics = Diagnostics(
      verbosity: verbosity, environment: environment, trace: try traceFile.map(TraceFile.init))
    for warning in warnings {
      if warning.isSilenced {
        diagnostics.warning(warning.text)
      } else {
        diagnostics.loudWarning(warning.text)
      }
    }
    return diagnostics
  }
}

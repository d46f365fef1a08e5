#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Arguments and environment in, exit status out; nothing else.
@main
struct Main {
  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    exit(run(words, environment: Environment.ofProcess()).rawValue)
  }

  private static func run(_ words: [String], environment: [String: String]) -> ExitStatus {
    let early = Diagnostics(verbosity: .normal, environment: environment)
    do throws(UsageError) {
      switch try Invocation(words) {
      case .page(let page, let status): return HelpCommand.run(page, status: status, early)
      case .version: return HelpCommand.version(early)
      case .subscribe(let typed):
        let settings = try SubscribeSettings(typed, environment: environment)
        let diagnostics = Diagnostics(
          verbosity: settings.verbosity, environment: environment,
          trace: try settings.traceFile.map(TraceFile.init))
        settings.warnings.forEach(diagnostics.warning)
        return SubscribeCommand.run(settings, diagnostics: diagnostics)
      case .sse(let typed):
        let settings = try StreamSettings(typed, environment: environment)
        let diagnostics = Diagnostics(
          verbosity: settings.verbosity, environment: environment,
          trace: try settings.traceFile.map(TraceFile.init))
        settings.warnings.forEach(diagnostics.warning)
        return StreamCommand.run(settings, diagnostics: diagnostics)
      case .serve(let typed):
        let settings = try ServeSettings(typed, environment: environment)
        let diagnostics = Diagnostics(verbosity: settings.verbosity, environment: environment)
        settings.warnings.forEach(diagnostics.warning)
        return ServeCommand.run(settings, diagnostics: diagnostics)
      case .trigger(let typed):
        let settings = try TriggerSettings(typed, environment: environment)
        let diagnostics = Diagnostics(
          verbosity: settings.verbosity, environment: environment,
          trace: try settings.traceFile.map(TraceFile.init))
        settings.warnings.forEach(diagnostics.warning)
        return TriggerCommand.run(settings, diagnostics: diagnostics)
      }
    } catch {
      early.usage(error)
      return .usage
    }
  }
}

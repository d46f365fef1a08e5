#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Arguments and environment in, exit status out; nothing else.
@main
struct Main {
  static func main() {
    exit(run(Array(CommandLine.arguments.dropFirst()), environment: environment()).rawValue)
  }

  private static func run(_ words: [String], environment: [String: String]) -> ExitStatus {
    do throws(UsageError) {
      switch try Invocation(words) {
      case .page(let page, let status): return HelpCommand.run(page, status: status)
      case .version: return HelpCommand.version()
      case .subscribe(let typed):
        let settings = try SubscribeSettings(typed, environment: environment)
        let diagnostics = Diagnostics(verbosity: settings.verbosity, environment: environment)
        settings.warnings.forEach(diagnostics.warning)
        return SubscribeCommand.run(settings, diagnostics: diagnostics)
      case .serve(let typed):
        let settings = try ServeSettings(typed, environment: environment)
        let diagnostics = Diagnostics(verbosity: settings.verbosity, environment: environment)
        settings.warnings.forEach(diagnostics.warning)
        return .internalError
      case .trigger(let typed):
        let settings = try TriggerSettings(typed, environment: environment)
        let diagnostics = Diagnostics(verbosity: settings.verbosity, environment: environment)
        settings.warnings.forEach(diagnostics.warning)
        return .internalError
      }
    } catch {
      Diagnostics(verbosity: .normal, environment: environment).usage(error)
      return .usage
    }
  }

  /// The environment's variables; of one that stands twice the first counts, as with getenv(3).
  private static func environment() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = unsafe environ
    while let text = unsafe entry.pointee {
      let pair = unsafe String(cString: text).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if pair.count == 2, variables[String(pair[0])] == nil {
        variables[String(pair[0])] = String(pair[1])
      }
      unsafe entry += 1
    }
    return variables
  }
}

internal import PusherCore

/// Runs `check`: finds out stage by stage what works, and what not.
enum CheckCommand {
  static func run(_ settings: CheckSettings, diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.outcome { try CheckRun(settings, diagnostics: diagnostics).run() }
  }
}

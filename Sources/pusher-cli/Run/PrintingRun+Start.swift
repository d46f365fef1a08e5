internal import PusherCore

extension PrintingRun {
  /// How many events came and when the last did, for people; empty before the first.
  var progress: String {
    EventProgress(events: printer?.count ?? 0, lastAt: lastEventAt).words(at: loop.now) ?? ""
  }

  /// Makes a command's run on a loop of its own and lets it go; answers how it went.
  static func start(
    _ diagnostics: Diagnostics, _ settings: PrintSettings? = nil,
    _ body: (EventLoop, OutputDescriptor) throws -> ExitStatus
  ) -> ExitStatus {
    diagnostics.outcome {
      guard let descriptor = try output(settings, diagnostics) else {
        diagnostics.error("standard output is closed; there is nowhere to print events")
        return .output
      }
      return try body(EventLoop(), descriptor)
    }
  }

  /// Where to print: the file of `--output-file`, else standard output; `nil` when that is closed.
  private static func output(
    _ settings: PrintSettings?, _ diagnostics: Diagnostics
  ) throws(UsageError) -> OutputDescriptor? {
    guard let settings, let path = settings.outputFile else { return OutputDescriptor() }
    do throws(FileFault) {
      let file = try OutputFile(
        path, terminator: settings.terminator, warn: { diagnostics.warning($0) })
      return OutputDescriptor(file)
    } catch {
      throw UsageError("--output-file: cannot write '\(path)': \(error.reason)")
    }
  }
}

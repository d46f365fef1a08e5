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
      switch try output(settings, diagnostics) {
      case .success(let descriptor?): return try body(EventLoop(), descriptor)
      case .success(nil):
        diagnostics.error("standard output is closed; there is nowhere to print events")
        return .output
      case .failure(let fault):
        return diagnostics.cannotPrint(fault.reason, to: settings?.outputFile)
      }
    }
  }

  /// Where to print: the file of `--output-file`, else standard output; `nil` when that is closed.
  ///
  /// A disk that takes nothing is nobody's mistake, and the failure here: a service manager may try again.
  private static func output(
    _ settings: PrintSettings?, _ diagnostics: Diagnostics
  ) throws(UsageError) -> Result<OutputDescriptor?, FileFault> {
    guard let settings, let path = settings.outputFile else { return .success(OutputDescriptor()) }
    do throws(FileFault) {
      let file = try OutputFile(
        path, terminator: settings.terminator, warn: { diagnostics.warning($0) })
      return .success(OutputDescriptor(file))
    } catch {
      guard !error.isOfDisk else { return .failure(error) }
      throw UsageError("--output-file: cannot write '\(path)': \(error.reason)")
    }
  }
}

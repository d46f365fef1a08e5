internal import PusherCore

/// Settings of a run beside printing: its limits, files, handler and monitor.
struct RunSettings: Equatable, Sendable {
  var timeout: Duration?
  var idleTimeout: Duration?
  /// A command to run once the run is ready.
  var onReady: String?
  /// A descriptor that gets a line when the run is ready.
  var readyDescriptor: Int32?
  /// Interval between two reports of the run's state.
  var statsInterval: Duration?
  /// A file that takes the place of standard output.
  var outputFile: String?
  /// A file that gets every event, printed or not.
  var recordFile: String?
  /// Maximum time that written events stay in the system's memory.
  var syncInterval: Duration?
  /// Where the run tells how it is.
  var monitor: MonitorSettings?
  /// What gets the events besides the output, or in its place.
  var handler: HandlerSettings?
}

/// The command of `--exec` and how it is run.
struct HookSettings: Equatable, Sendable {
  /// What a failed command does to the run.
  enum FailureRule: String, CaseIterable, Sendable {
    case `continue`
    case stop
  }

  var command: String
  /// How many may run at once.
  var jobs: Int
  /// How long one may take; `nil` for as long as it likes.
  var timeout: Duration?
  var onFailure: FailureRule
  /// Whether events are printed besides.
  var prints: Bool
}

extension SettingsReader {
  /// What was typed about the run.
  mutating func run() throws(UsageError) -> RunSettings {
    let handler = try handler()
    let outputFile = try outputFile(handler)
    return RunSettings(
      timeout: typed.duration(.timeout), idleTimeout: typed.duration(.idleTimeout),
      onReady: typed.text(.onReady), readyDescriptor: try readyDescriptor(),
      statsInterval: typed.duration(.stats), outputFile: outputFile,
      recordFile: try recordFile(outputFile), syncInterval: typed.duration(.sync),
      monitor: try monitoring(), handler: handler)
  }

  /// The file of `--output-file`.
  ///
  /// - Throws: ``UsageError`` where no event would reach it.
  private mutating func outputFile(_ handler: HandlerSettings?) throws(UsageError) -> String? {
    guard let path = typed.text(.outputFile) else { return nil }
    if let handler, !handler.prints {
      throw UsageError("--output-file gets no event beside --exec or --forward: add --tee")
    }
    return path
  }

  /// The file of `--record`.
  ///
  /// - Throws: ``UsageError`` where that is the file of `--output-file`, whose lines would stand there twice.
  private func recordFile(_ outputFile: String?) throws(UsageError) -> String? {
    guard let path = typed.text(.recordEvents) else { return nil }
    if let outputFile, outputFile.utf8.elementsEqual(path.utf8) {
      throw UsageError("--record and --output-file name the same file; give each a file of its own")
    }
    return path
  }

  /// The descriptor of `--ready-fd`, which the caller must have opened.
  private func readyDescriptor() throws(UsageError) -> Int32? {
    guard let number = typed.integer(.readyFD) else { return nil }
    let descriptor = Int32(clamping: number)
    guard files.isOpen(descriptor) else {
      throw UsageError(
        "--ready-fd: descriptor \(number) is not open; write \(number)>FILE after the command")
    }
    return descriptor
  }
}

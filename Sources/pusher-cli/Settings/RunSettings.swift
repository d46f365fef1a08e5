internal import PusherCore

struct RunSettings: Equatable, Sendable {
  var timeout: Duration?
  var idleTimeout: Duration?
  var onReady: String?
  /// Descriptor that gets a line when the run is ready.
  var readyDescriptor: Int32?
  var statsInterval: Duration?
  var outputFile: String?
  /// Gets every event, printed or not.
  var recordFile: String?
  /// Maximum time that written events stay in the system's memory.
  var syncInterval: Duration?
  /// Address of `--metrics`.
  var monitor: ListenSettings?
  var handler: HandlerSettings?
}

struct HookSettings: Equatable, Sendable {
  enum FailureRule: String, CaseIterable, Sendable {
    case `continue`
    case stop
  }

  var command: String
  var jobs: Int
  var timeout: Duration?
  var onFailure: FailureRule
  var prints: Bool
}

extension SettingsReader {
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

  private mutating func outputFile(_ handler: HandlerSettings?) throws(UsageError) -> String? {
    guard let path = typed.text(.outputFile) else { return nil }
    if let handler, !handler.prints {
      throw UsageError("--output-file gets no events with --exec or --forward: add --tee")
    }
    return path
  }

  private func recordFile(_ outputFile: String?) throws(UsageError) -> String? {
    guard let path = typed.text(.recordEvents) else { return nil }
    if let outputFile, outputFile.utf8.elementsEqual(path.utf8) {
      throw UsageError("--record and --output-file name the same file; give each its own file")
    }
    return path
  }

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

internal import PusherCore
internal import PusherLines

extension Diagnostics {
  func outcome(of body: () throws -> ExitStatus) -> ExitStatus {
    do {
      return try body()
    } catch let failure as APICaller.Failure {
      return failure.status
    } catch let error as UsageError {
      usage(error)
      return .usage
    } catch {
      // Nothing was sent or served yet, so files, addresses or this machine's resources failed.
      self.error("\(error)")
      return ExitStatus(Cause(starting: error))
    }
  }

  /// Reports a failed output; ends the program by SIGPIPE if the reader is gone.
  func outcome(of failure: OutputQueue.Failure) -> ExitStatus {
    if failure == .readerGone { Signals.dieOfBrokenPipe() }
    return cannotPrint(failure.reason)
  }

  func rejectAnswer() -> ExitStatus {
    error("the server's answer does not follow the HTTP API")
    return .rejected
  }

  func cannotPrint(_ reason: String, to file: String? = nil) -> ExitStatus {
    error("cannot write to \(file.map { "'\($0)'" } ?? "standard output"): \(reason)")
    return .output
  }

  /// Writes all of `text` to standard output; returns `status` unless the write failed.
  func print(_ text: String, _ status: ExitStatus = .success) -> ExitStatus {
    let bytes = StandardDescriptors.isTerminal(1) ? TerminalText.safe(text) : Array(text.utf8)
    let fault = Signals.endingAtOnce { SystemCalls.writeWhole(bytes, to: 1, waits: true) }
    guard let fault else { return status }
    return outcome(of: fault == .brokenPipe ? .readerGone : .system(fault))
  }
}

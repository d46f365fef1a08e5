internal import PusherCore

extension Diagnostics {
  /// The status of a command's body; its errors are reported.
  func outcome(of body: () throws -> ExitStatus) -> ExitStatus {
    do {
      return try body()
    } catch let failure as APICaller.Failure {
      return failure.status
    } catch let error as UsageError {
      usage(error)
      return .usage
    } catch {
      // Nothing has been sent or served yet, so files, addresses or this machine's resources failed.
      self.error("\(error)")
      return ExitStatus(Cause(starting: error))
    }
  }

  /// The status of a run whose output has failed; the reason is reported, or ends the program as it ends a filter.
  func outcome(of failure: OutputQueue.Failure) -> ExitStatus {
    if failure == .readerGone { Signals.dieOfBrokenPipe() }
    return cannotPrint(failure.reason)
  }

  /// Reports that the HTTP API accepted a call, and that its answer cannot be read.
  func rejectAnswer() -> ExitStatus {
    error("the server's answer is not what the HTTP API promises")
    return .rejected
  }

  /// Reports that the output, a file or else standard output, takes nothing.
  func cannotPrint(_ reason: String, to file: String? = nil) -> ExitStatus {
    error("cannot write to \(file.map { "'\($0)'" } ?? "standard output"): \(reason)")
    return .output
  }

  /// Prints `text` whole to standard output, waiting for its reader; the status is `status` unless that failed.
  func print(_ text: String, _ status: ExitStatus = .success) -> ExitStatus {
    let bytes = StandardDescriptors.isTerminal(1) ? TerminalText.safe(text) : Array(text.utf8)
    let fault = Signals.endingAtOnce { SystemCalls.writeWhole(bytes, to: 1, waits: true) }
    guard let fault else { return status }
    return outcome(of: fault == .brokenPipe ? .readerGone : .system(fault))
  }
}

/// An answer on a terminal.
enum TerminalText {
  /// The bytes of `text`, with everything that could drive or deceive a terminal written as JSON escapes it.
  ///
  /// Lines and tabulators stay. JSON stays JSON, since its own such characters stand inside strings.
  static func safe(_ text: String) -> [UInt8] {
    let input = ByteBuffer(capacity: text.utf8.count)
    input.append(text)
    let output = ByteBuffer(capacity: text.utf8.count)
    return withExtendedLifetime(input) {
      let view = input.view
      var start = 0
      for index in 0..<view.count {
        let byte = view[index]
        guard byte < 0x20, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\t") else { continue }
        JSONString.appendForTerminal(view[start..<index], into: output)
        output.append("\\u00" + Hex.encode([byte]))
        start = index + 1
      }
      JSONString.appendForTerminal(view[start..<view.count], into: output)
      return output.view.array
    }
  }
}

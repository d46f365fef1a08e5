internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Standard output of commands that print an answer and end: written whole, waiting for the reader.
enum StandardOutput {
  /// Writes `text`; answers in words why it could not be written, or nil.
  ///
  /// A reader that has gone ends the program by SIGPIPE, as it ends a filter.
  static func write(_ text: String) -> String? {
    var rest = (isatty(1) == 1 ? TerminalText.safe(text) : Array(text.utf8))[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe SystemCalls.write(1, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var waiting = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&waiting, 1, -1)
      } else if errno == EPIPE {
        Signals.dieOfBrokenPipe()
      } else if errno != EINTR {
        return "\(SystemError(code: errno))"
      }
    }
    return nil
  }
}

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

  /// Prints `text` to standard output; the status is `status`, or ``ExitStatus/output`` when that failed.
  func print(_ text: String, _ status: ExitStatus = .success) -> ExitStatus {
    guard let reason = StandardOutput.write(text) else { return status }
    error("cannot write to standard output: \(reason)")
    return .output
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

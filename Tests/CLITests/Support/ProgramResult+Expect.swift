import Foundation
import Testing

extension ProgramResult {
  /// Expects an exit status, and of the outputs what is given.
  ///
  /// - Parameters:
  ///   - output: The whole standard output.
  ///   - error: The only message on standard error, without `pusher-cli: error: `.
  ///   - text: The whole standard error.
  ///   - lastError: The last line on standard error, without `pusher-cli: error: `.
  ///   - parts: Parts of standard error.
  func expect(
    _ status: Int32 = 0, prints output: String? = nil, error: String? = nil,
    says text: String? = nil, lastError: String? = nil, telling parts: String...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let seen: Comment = "\(outputText.prefix(2000))\(errorText.prefix(2000))"
    #expect(ending == .exited(status), seen, sourceLocation: sourceLocation)
    #expect(outputText == output ?? outputText, seen, sourceLocation: sourceLocation)
    if let said = text ?? error.map({ "pusher-cli: error: \($0)\n" }) {
      #expect(errorText == said, sourceLocation: sourceLocation)
    }
    if let lastError {
      #expect(
        errorLines.last.map(String.init) == "pusher-cli: error: \(lastError)", seen,
        sourceLocation: sourceLocation)
    }
    for part in parts {
      #expect(errorText.contains(part), seen, sourceLocation: sourceLocation)
    }
  }
}

extension ChildProgram {
  /// Ends the program by a signal, and expects that it dies of it.
  func end(by signal: Int32 = SIGTERM, sourceLocation: SourceLocation = #_sourceLocation) throws {
    send(signal)
    #expect(try wait() == .signalled(signal), sourceLocation: sourceLocation)
  }
}

internal import PusherCore

/// Reads the files of `--header @FILE` and runs the command of `--header-command` for each connection.
final class FreshFields: FieldSource {
  private let settings: RequestFields
  private let timeout: Duration
  private let loop: EventLoop
  private let files: FileAccess
  private var process: ChildProcess?
  /// The answer to the open question waits for the loop.
  private var timer: LoopTimer?

  /// `nil` where no field changes.
  ///
  /// - Parameter timeout: How long the command may take.
  init?(
    _ settings: RequestFields, timeout: Duration, loop: EventLoop, files: FileAccess = .system
  ) {
    guard settings.areFresh else { return nil }
    self.settings = settings
    self.timeout = timeout
    self.loop = loop
    self.files = files
  }

  func fields(completion: @escaping Completion) {
    do throws(FieldSourceError) {
      var fields = HTTPHeaders()
      for path in settings.files {
        guard case .success(let bytes) = files.contents(path, SettingsReader.headerLimit) else {
          throw FieldSourceError("--header: cannot read '\(path)'")
        }
        try Self.add(bytes, to: &fields, Flag.header.spelling)
      }
      guard let command = settings.command else { return answer(.success(fields), completion) }
      try run(command, fields, completion)
    } catch {
      answer(.failure(error), completion)
    }
  }

  func cancel() {
    process?.cancel(at: loop.now)
    process = nil
    forgetTimer()
  }

  private func forgetTimer() {
    if let timer { loop.remove(timer) }
    timer = nil
  }

  /// Answers from inside the loop: the feed that asks is not done yet.
  private func answer(
    _ result: Result<HTTPHeaders, FieldSourceError>, _ completion: @escaping Completion
  ) {
    let answer = LoopTimer(deadline: loop.now) { [unowned self] in
      forgetTimer()
      completion(result)
    }
    timer = answer
    loop.add(answer)
  }

  private func run(
    _ command: String, _ fields: HTTPHeaders, _ completion: @escaping Completion
  ) throws(FieldSourceError) {
    let question = ChildProcess.Command(line: command, timeout: timeout)
    do throws(ChildProcess.Failure) {
      process = try ChildProcess(loop: loop, command: question, at: loop.now) {
        [unowned self] result, _ in
        process = nil
        completion(Self.result(result, after: fields))
      }
    } catch {
      throw Self.failed("\(error)")
    }
  }

  private static func result(
    _ result: Result<ChildProcess.Output, ChildProcess.Failure>, after fields: HTTPHeaders
  ) -> Result<HTTPHeaders, FieldSourceError> {
    do throws(FieldSourceError) {
      switch result {
      case .success(let output) where output.status == 0:
        var fields = fields
        try add(output.bytes, to: &fields, Flag.headerCommand.spelling)
        return .success(fields)
      case .success(let output): throw failed("the command ended with status \(output.status)")
      case .failure(let failure): throw failed("\(failure)")
      }
    } catch {
      return .failure(error)
    }
  }

  private static func failed(_ reason: String) -> FieldSourceError {
    FieldSourceError("\(Flag.headerCommand.spelling): \(reason)")
  }

  private static func add(
    _ bytes: [UInt8], to fields: inout HTTPHeaders, _ origin: String
  ) throws(FieldSourceError) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw FieldSourceError("\(origin): the fields are not UTF-8 text")
    }
    do throws(UsageError) {
      for field in try SettingsReader.headers(text, origin) {
        fields.append(field.name, field.value)
      }
    } catch {
      throw FieldSourceError(error.message)
    }
  }
}

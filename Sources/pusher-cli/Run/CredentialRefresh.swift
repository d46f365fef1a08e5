internal import PusherCore

/// Reads the files of `--header @FILE` and `--secret-file` again before each connection, and runs
/// `--header-command`.
final class CredentialRefresh: FieldSource {
  private let settings: RequestFields
  private let timeout: Duration
  private let loop: EventLoop
  private let files = FileAccess.running()
  private let diagnostics: Diagnostics
  private var known: [FieldFile]
  private let readSecret: (() throws(UsageError) -> Secret)?
  /// The secret of the last reading; `nil` before the first.
  private(set) var secret: Secret?
  /// Files whose previous fields are in use, which was reported.
  private var doubted: Set<String> = []
  private var process: ChildProcess?
  private var timer: LoopTimer?

  /// Returns `nil` if nothing can change.
  ///
  /// - Parameters:
  ///   - timeout: Maximum time of the command.
  ///   - readSecret: Reads the secret; `nil` without a file.
  init?(
    _ settings: RequestFields, readSecret: (() throws(UsageError) -> Secret)? = nil,
    timeout: Duration, loop: EventLoop, diagnostics: Diagnostics
  ) {
    guard settings.areFresh || readSecret != nil else { return nil }
    self.readSecret = readSecret
    (self.settings, self.timeout) = (settings, timeout)
    (self.loop, self.diagnostics) = (loop, diagnostics)
    known = settings.files
  }

  func fields(completion: @escaping Completion) {
    refreshSecret()
    do throws(ExplainedError) {
      var fields = HTTPHeaders()
      for index in known.indices {
        try read(&known[index])
        for field in known[index].fields { fields.append(field.name, field.value) }
      }
      guard let command = settings.command else { return answer(.success(fields), completion) }
      let question = ChildProcess.Command(line: command, timeout: timeout)
      process = ChildProcess.start(question, on: loop) { [unowned self, fields] result in
        process = nil
        answer(Self.result(result, after: fields), completion)
      }
    } catch { answer(.failure(error), completion) }
  }

  /// Reads the file again; a pipe in its place, or a file without fields, changes nothing.
  private func read(_ file: inout FieldFile) throws(ExplainedError) {
    switch files.contents(file.path, NamedValue.headerLimit) {
    case .success(let bytes):
      let fields = try Self.fields(bytes, Flag.header.spelling)
      guard fields.isEmpty, !file.fields.isEmpty else {
        file.fields = fields
        doubted.remove(file.path)
        return
      }
      doubt(file.path, "it has no header field")
    case .failure(let fault) where fault.isOtherKind: doubt(file.path, fault.reason)
    case .failure: throw ExplainedError("--header: cannot read '\(file.path)'")
    }
  }

  /// A file that cannot be used changes nothing.
  private func refreshSecret() {
    guard let readSecret else { return }
    do throws(UsageError) {
      secret = try readSecret()
      doubted.remove(Flag.secretFile.spelling)
    } catch {
      guard doubted.insert(Flag.secretFile.spelling).inserted else { return }
      diagnostics.warning("\(error.message); signing with the previous secret")
    }
  }

  private func doubt(_ path: String, _ reason: String) {
    guard doubted.insert(path).inserted else { return }
    diagnostics.warning("--header: '\(path)': \(reason); sending its previous fields")
  }

  func cancel() {
    process?.cancel(at: loop.now)
    process = nil
    loop.cancel(&timer)
  }

  /// Answers from inside the loop, because the calling feed is not done yet.
  private func answer(
    _ result: Result<HTTPHeaders, ExplainedError>, _ completion: @escaping Completion
  ) {
    timer = loop.schedule(after: .zero) { [unowned self] in
      loop.cancel(&timer)
      completion(result)
    }
  }

  private static func result(
    _ result: ChildProcess.Outcome, after fields: HTTPHeaders
  ) -> Result<HTTPHeaders, ExplainedError> {
    Result { () throws(ExplainedError) in
      guard case .success(let output) = result, output.status == 0 else {
        throw ExplainedError("\(Flag.headerCommand.spelling): \(result.problem ?? "")")
      }
      var fields = fields
      for field in try Self.fields(output.bytes, Flag.headerCommand.spelling) {
        fields.append(field.name, field.value)
      }
      return fields
    }
  }

  private static func fields(
    _ bytes: [UInt8], _ origin: String
  ) throws(ExplainedError) -> [NamedValue] {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ExplainedError("\(origin): the fields are not UTF-8 text")
    }
    do throws(UsageError) {
      return try NamedValue.headers(text, origin)
    } catch {
      throw ExplainedError(error.message)
    }
  }
}

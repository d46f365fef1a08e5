import Foundation
import PusherCore
import TestSupport
import Testing

enum Ending: Equatable, CustomStringConvertible {
  case exited(Int32)
  case signalled(Int32)

  var description: String {
    switch self {
    case .exited(let status): "exited with status \(status)"
    case .signalled(let signal): "died of signal \(signal)"
    }
  }
}

/// A running process.
///
/// The test reads its standard output and error, with a limit on every wait.
///
/// It belongs to the test's thread. `deinit` kills a running process with its group.
final class ChildProgram {
  let id: pid_t
  private var output: PipeReader?
  private var errors: PipeReader?
  private var input: Int32 = -1
  private var ending: Ending?

  typealias Input = SpawnRequest.Descriptor
  typealias Output = SpawnRequest.Descriptor

  init(
    _ executable: String, _ arguments: [String], environment: [String: String],
    input: Input = .nothing, output: Output = .pipe, handed: [Int32] = [],
    blocksSignals: Bool = false
  ) throws {
    var request = SpawnRequest(
      executable: executable, arguments: arguments, environment: environment, input: input,
      output: output, handed: handed)
    request.blocksSignals = blocksSignals
    var childsEnds: [Int32] = []
    defer { for end in childsEnds { close(end) } }
    func reader() throws -> (PipeReader, SpawnRequest.Descriptor) {
      let pipe = try Spawn.pipe()
      childsEnds.append(pipe.writing)
      return (PipeReader(pipe.reading), .inherited(pipe.writing))
    }
    (errors, request.errors) = try reader()
    if case .pipe = output { (self.output, request.output) = try reader() }
    if case .pipe = input {
      let pipe = try Spawn.pipe()
      childsEnds.append(pipe.reading)
      (self.input, request.input) = (pipe.writing, .inherited(pipe.reading))
    }
    id = try Spawn.start(request)
  }

  /// Starts a process on a terminal, which the caller reads.
  init(_ executable: String, _ arguments: [String], environment: [String: String], on path: String)
    throws
  {
    var request = SpawnRequest(
      executable: executable, arguments: arguments, environment: environment)
    request.terminal = path
    id = try Spawn.start(request)
  }

  deinit {
    closeInput()
    guard ending == nil else { return }
    kill(-id, SIGKILL)
    kill(id, SIGKILL)
    Spawn.collect(id)
  }

  func endWithChildren() {
    kill(-id, SIGKILL)
    _ = try? wait(readsOutput: false)
  }

  /// Stops the program, and returns once none of its threads runs.
  func stop() { Spawn.stop(id) }

  func send(_ signal: Int32) { kill(id, signal) }

  func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { quietWrite(input, $0) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Writes to the child's standard input until the pipe stays full while the child checks it
  /// twice.
  func writeWhatGoes(_ bytes: [UInt8]) throws -> Int {
    _ = fcntl(input, F_SETFL, O_NONBLOCK)
    var taken = 0
    while true {
      let before = taken
      while taken < bytes.count {
        let count = bytes[taken...].withUnsafeBytes { quietWrite(input, $0) }
        guard count > 0 else { break }
        taken += count
      }
      if taken == before || taken == bytes.count { return taken }
      _ = try goRound(2)
    }
  }

  func closeInput() {
    if input >= 0 { close(input) }
    input = -1
  }

  /// Closes our end of the child's standard output, like a reader that leaves.
  func closeOutput() { output = nil }

  func line(endedBy end: UInt8 = 0x0A, within limit: Duration = patience) throws -> String {
    String(decoding: try lineBytes(endedBy: end, within: limit), as: UTF8.self)
  }

  func lineBytes(endedBy end: UInt8 = 0x0A, within limit: Duration = patience) throws -> [UInt8] {
    let line = try wait(limit, for: \.output) { $0.takeLine(endedBy: end) }
    guard let line else { throw Late("no line on standard output; \(whatIsKnown)") }
    return line
  }

  func lines(_ count: Int, within limit: Duration = patience) throws -> [String] {
    let deadline = SystemClock.now().advanced(by: limit)
    return try (0..<count).map { _ in
      try line(within: max(.zero, SystemClock.now().duration(to: deadline)))
    }
  }

  @discardableResult
  func errorLine(
    containing text: String = "", within limit: Duration = patience, readsOutput: Bool = true
  ) throws -> String {
    var passed: [String] = []
    let found = try wait(limit, for: \.errors, readsOutput: readsOutput) { errors -> String? in
      while let bytes = errors.takeLine(endedBy: 0x0A) {
        let line = String(decoding: bytes, as: UTF8.self)
        if text.isEmpty || line.contains(text) { return line }
        passed.append(line)
      }
      return nil
    }
    guard let found else {
      throw Late("no line with '\(text)' on standard error, only \(passed); \(whatIsKnown)")
    }
    return found
  }

  /// Waits for the end of the process.
  ///
  /// Keeps its output, unless `readsOutput` is false.
  @discardableResult
  func wait(within limit: Duration = patience, readsOutput: Bool = true) throws -> Ending {
    let deadline = SystemClock.now().advanced(by: limit)
    while true {
      if let ending = collect() { return ending }
      guard SystemClock.now() < deadline else {
        throw Late("the process did not end within \(limit); \(whatIsKnown)")
      }
      // The end of standard error ends the wait at once.
      fill(output: readsOutput, timeout: errors?.hasEnded == false ? 50 : 2)
    }
  }

  func result(within limit: Duration = patience) throws -> ProgramResult {
    let ending = try wait(within: limit)
    drain()
    return ProgramResult(
      ending: ending, output: output?.takeAll() ?? [], errors: errors?.takeAll() ?? [])
  }

  /// Sends a signal, and expects that the process dies of it.
  @discardableResult
  func result(
    of signal: Int32, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> ProgramResult {
    send(signal)
    let result = try result()
    #expect(result.ending == .signalled(signal), sourceLocation: sourceLocation)
    return result
  }

  var pendingErrors: String { String(decoding: errors?.unread ?? [], as: UTF8.self) }

  func peekAtErrors() -> String {
    fill(output: false, timeout: 0)
    return pendingErrors
  }

  private var whatIsKnown: String {
    let state = ending.map { "\($0)" } ?? "still runs"
    return "the process \(state); standard error: \(pendingErrors)"
  }

  /// Waits until a pipe gives a value; returns nil after its end or the limit.
  private func wait<Value>(
    _ limit: Duration, for pipe: KeyPath<ChildProgram, PipeReader?>, readsOutput: Bool = true,
    _ value: (PipeReader) -> Value?
  ) throws -> Value? {
    let deadline = SystemClock.now().advanced(by: limit)
    while let reader = self[keyPath: pipe] {
      if let value = value(reader) { return value }
      if reader.hasEnded { return nil }
      let left = SystemClock.now().duration(to: deadline).inSeconds
      guard left > 0 else { return nil }
      fill(output: readsOutput, timeout: Int32(min(left * 1000 + 1, 1000)))
    }
    return nil
  }

  private func fill(output readsOutput: Bool, timeout: Int32) {
    let readers = [readsOutput ? output : nil, errors].compactMap { $0 }.filter { !$0.hasEnded }
    var waiting = readers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    poll(&waiting, nfds_t(waiting.count), timeout)
    for (reader, state) in zip(readers, waiting) where state.revents != 0 { reader.fill() }
  }

  private func drain() {
    let deadline = SystemClock.now().advanced(by: .seconds(2))
    while [output, errors].contains(where: { $0?.hasEnded == false }), SystemClock.now() < deadline
    {
      fill(output: true, timeout: 10)
    }
  }

  private func collect() -> Ending? {
    if ending == nil {
      var status: Int32 = 0
      guard waitpid(id, &status, WNOHANG) == id else { return nil }
      let signal = status & 0x7F
      ending = signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
    }
    return ending
  }
}

struct ProgramResult {
  var ending: Ending
  var output: [UInt8]
  var errors: [UInt8]

  var outputText: String { String(decoding: output, as: UTF8.self) }
  var errorText: String { String(decoding: errors, as: UTF8.self) }
  var errorLines: [Substring] { errorText.split(separator: "\n") }
  var outputLines: [String] { outputText.split(separator: "\n").map(String.init) }
}

extension ChildProgram {
  func outputLine(containing text: String) throws -> String {
    while true {
      let line = try line()
      if line.contains(text) { return line }
    }
  }

  /// Asks the run for its state until that many events have come.
  func awaitEvents(_ count: Int) throws {
    try waitUntil("\(count) events have come") {
      send(SIGUSR1)
      return try errorLine(containing: "bytes queued").contains("\(count) events")
    }
  }
}

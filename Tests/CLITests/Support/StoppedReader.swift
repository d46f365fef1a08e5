import Foundation
import PusherCore
import TestSupport

/// A pipe for a program's standard output, which the test reads at will.
///
/// The test has both ends, because only root may open those of a program that hides its memory.
class UnreadPipe {
  fileprivate var reading: Int32
  fileprivate let writing: Int32

  init() throws {
    (reading, writing) = try Spawn.pipe()
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
  }

  deinit {
    if reading >= 0 { close(reading) }
    close(writing)
  }

  var output: ChildProgram.Output { .inherited(writing) }

  /// Waits until the pipe takes nothing more, so that the program holds the rest.
  func awaitFull() throws {
    try waitUntil("the pipe is full") {
      !Socket.wait(for: POLLOUT, on: writing, milliseconds: 0)
    }
  }

  func awaitBytes(_ count: Int32) throws {
    var waiting: Int32 = 0
    try waitUntil("\(count) bytes are in the pipe, not \(waiting)") {
      _ = ioctl(reading, UInt(FIONREAD), &waiting)
      return waiting >= count
    }
  }

  func take() -> [UInt8] {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(reading, &piece, piece.count)
      guard count > 0 else { return all }
      all += piece[..<count]
    }
  }
}

/// A program whose standard output is a pipe that the test leaves unread at first.
final class StoppedReader: UnreadPipe {
  private var program: ChildProgram?

  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    try super.init()
    program = try PusherCLI.start(arguments, environment: environment, output: output)
  }

  var id: pid_t { program?.id ?? -1 }

  /// Stops the program, reads the whole pipe and closes it.
  func takeAndLeave() throws -> [UInt8] {
    // A running program would refill the pipe before it is closed.
    program?.stop()
    let all = take()
    close(reading)
    reading = -1
    // A program that another test starts at this moment has a copy of the reading end until it
    // executes, and the system would take more lines for it.
    try waitUntil("no process has the reading end") {
      var asked = pollfd(fd: writing, events: 0, revents: 0)
      return poll(&asked, 1, 0) == 1 && asked.revents & Int16(POLLERR) != 0
    }
    program?.send(SIGCONT)
    return all
  }

  /// Waits for the end of the program, whose clock moves on meanwhile.
  func end(moving clock: MovedClock? = nil) throws -> Ending {
    try waitFor("the program has ended") {
      clock?.move(.milliseconds(100))
      return try? program?.wait(within: .milliseconds(2))
    }
  }
}

extension ProgramResult {
  static func wholeLines(_ bytes: [UInt8]) -> [Substring] {
    let end = bytes.lastIndex(of: 0x0A) ?? -1
    return String(decoding: bytes[..<(end + 1)], as: UTF8.self).split(separator: "\n")
  }
}

extension PusherCLI {
  /// False under ThreadSanitizer: its memory is a file to the system, so a file size limit would
  /// break it.
  static let bearsFileLimits =
    ProcessInfo.processInfo.environment["PUSHER_CLI_SANITIZER"] != "thread"

  /// False under AddressSanitizer, which keeps freed memory for a while.
  static let givesMemoryBack =
    ProcessInfo.processInfo.environment["PUSHER_CLI_SANITIZER"] != "address"

  /// False under sanitizers, which ask for the time before libfaketime is ready.
  static let bearsFaketime = ProcessInfo.processInfo.environment["PUSHER_CLI_SANITIZER"] == nil

  static func limited(blocks: Int, _ arguments: [String], output: ChildProgram.Output) throws
    -> ChildProgram
  {
    try ChildProgram(
      "/bin/sh", ["-c", "ulimit -f \(blocks); exec \"$0\" \"$@\"", path] + arguments,
      environment: environment, output: output)
  }

  static func appending<Result>(
    to path: String, _ body: (ChildProgram.Output) throws -> Result
  ) throws -> Result {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemFailure("opening \(path)", errno) }
    defer { close(descriptor) }
    return try body(.inherited(descriptor))
  }
}

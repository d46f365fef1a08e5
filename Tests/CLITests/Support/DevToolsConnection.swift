import Foundation
import PusherCore

/// A running Chromium, and the messages of its DevTools protocol: JSON, each ended by a NUL byte.
///
/// It belongs to the test's thread. The browser and its children end with this.
final class DevToolsConnection {
  private let program: ChildProgram
  private let folder: String
  /// Our end of what the browser has as descriptors 3 and 4.
  private let reader: PipeReader

  init() throws {
    guard let path = Browser.path else { throw Unexpected(Browser.reason) }
    folder = TemporaryFolder.shared.file("driven-browser")
    // A pair of sockets and not of pipes: a write to a browser that has ended is an error then, and no signal.
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemFailure("socketpair", errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[1]) }
    reader = PipeReader(ends[0])
    program = try ChildProgram(
      path, Browser.options(folder: folder) + ["--remote-debugging-pipe"],
      environment: PusherCLI.environment, handed: [ends[1], ends[1]])
  }

  deinit {
    // What is installed under that name may be a script that starts the browser.
    program.endWithChildren()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The browser's process, which leads the group of all that it starts.
  var processID: pid_t { program.id }

  /// Sends a message; what the browser says meanwhile is kept.
  func send(_ message: JSONValue) throws {
    let buffer = ByteBuffer()
    JSONWriter.write(message, into: buffer)
    buffer.append(0)
    let deadline = SystemClock.now().advanced(by: patience)
    while !buffer.isEmpty {
      let count = Foundation.send(
        reader.descriptor, buffer.view.base, buffer.count, Int32(MSG_NOSIGNAL))
      if count > 0 {
        buffer.consume(count)
      } else if errno == EAGAIN {
        guard SystemClock.now() < deadline else { throw Late("the browser reads nothing") }
        wait(for: POLLIN | POLLOUT, milliseconds: 1000)
      } else if errno != EINTR {
        throw hasEnded
      }
    }
  }

  /// The next message; `nil` when none came within a time.
  func message(within limit: Duration) throws -> JSONValue? {
    let deadline = SystemClock.now().advanced(by: limit)
    while true {
      if let bytes = reader.takeLine(endedBy: 0) {
        let buffer = ByteBuffer()
        buffer.append(bytes)
        return try JSONParser.parse(buffer.view)
      }
      if reader.hasEnded { throw hasEnded }
      let left = SystemClock.now().duration(to: deadline).inSeconds
      // What has come already is taken also when there is no time left.
      let hasCome = wait(for: POLLIN, milliseconds: Int32(max(0, min(left * 1000, 1000))))
      if !hasCome, left <= 0 { return nil }
    }
  }

  /// Waits until the browser has written, or takes more; answers whether something came.
  @discardableResult
  private func wait(for events: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: reader.descriptor, events: Int16(events), revents: 0)
    poll(&waiting, 1, milliseconds)
    // A browser whose standard error is full would wait for us.
    _ = program.peekAtErrors()
    guard Int32(waiting.revents) & ~POLLOUT != 0 else { return false }
    reader.fill()
    return true
  }

  private var hasEnded: Unexpected {
    Unexpected("the browser has ended; standard error: \(program.peekAtErrors())")
  }
}

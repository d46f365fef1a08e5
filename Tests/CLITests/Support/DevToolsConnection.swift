import Foundation
import PusherCore

/// A running Chromium and its DevTools protocol: JSON messages, each ended by a NUL byte.
///
/// It belongs to the test's thread. The browser and its children end with the object.
final class DevToolsConnection {
  private let program: ChildProgram
  private let folder: String
  /// Our end of the browser's descriptors 3 and 4.
  private let reader: PipeReader

  init() throws {
    guard let path = Browser.path else { throw Unexpected(Browser.reason) }
    folder = TemporaryFolder.shared.file("driven-browser")
    // A socket pair instead of pipes: writing to an ended browser then fails without a signal.
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
    // The installed program may be a script that starts the browser.
    program.endWithChildren()
    try? FileManager.default.removeItem(atPath: folder)
  }

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

  /// Returns the next message, or `nil` after the limit.
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
      // Received bytes count even if no time is left.
      let hasCome = wait(for: POLLIN, milliseconds: Int32(max(0, min(left * 1000, 1000))))
      if !hasCome, left <= 0 { return nil }
    }
  }

  /// Waits until the browser has written or accepts more; returns true if bytes arrived.
  @discardableResult private func wait(for events: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: reader.descriptor, events: Int16(events), revents: 0)
    poll(&waiting, 1, milliseconds)
    // A browser with a full standard error would block.
    _ = program.peekAtErrors()
    guard Int32(waiting.revents) & ~POLLOUT != 0 else { return false }
    reader.fill()
    return true
  }

  private var hasEnded: Unexpected {
    Unexpected("the browser has ended; standard error: \(program.peekAtErrors())")
  }
}

import Foundation

/// A server's pipe whose hang-up ends the threads of the server.
///
/// A user who is not root has memory for about a thousand pipes, open on one end too. So the last
/// thread closes the reading end.
struct StopPipe: Sendable {
  /// The reading end; the threads keep it.
  final class Reader: Sendable {
    let descriptor: Int32

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// True after ``StopPipe/end()``.
    var hasEnded: Bool {
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&waiting, 1, 0) != 0
    }
  }

  let reader: Reader
  private let writing: Int32

  init() throws {
    let ends = try Spawn.pipe()
    (reader, writing) = (Reader(ends.reading), ends.writing)
  }

  /// Ends the threads; called once.
  func end() { close(writing) }
}

internal import CSystemEpoll
internal import PusherPlatform

/// A copy of this process that runs one function, with a local socket between the two.
///
/// The copy has everything that this process has read, so settings and secrets need no way to it.
/// It has only the thread that makes it: no other thread may run yet. The copy ends by itself when
/// its end of the socket reports the end of the stream, because then this process is gone.
package final class ForkedProcess {
  package let id: Int32
  /// Our end of the socket; the caller closes it.
  package let socket: Int32
  private var ending: String?

  private init(id: Int32, socket: Int32) { (self.id, self.socket) = (id, socket) }

  /// Makes a copy, which calls `body` with its end of the socket and exits with the result.
  ///
  /// - Parameter others: Our ends of earlier copies' sockets. The copy closes them: it would
  ///   otherwise hide our end from the earlier copies.
  package static func start(
    closing others: [Int32], _ body: (_ socket: Int32) -> Int32
  ) throws(TransportError) -> ForkedProcess {
    do throws(SystemError) {
      let (ours, theirs) = try Syscalls.makeSocketPair()
      defer { Syscalls.closeDescriptor(theirs) }
      var process: Int32 = -1
      // A code other than 0 keeps the copy from recording itself.
      let code = Children.starting(&process) { process in
        process = pusher_fork()
        return process > 0 ? 0 : process == 0 ? -1 : errno
      }
      if process == 0 {
        for descriptor in others + [ours] { Syscalls.closeDescriptor(descriptor) }
        // Not `exit`: what the two share, such as C's buffers, is for the original to end.
        _exit(body(theirs))
      }
      guard code == 0 else {
        Syscalls.closeDescriptor(ours)
        throw SystemError(code: code)
      }
      return ForkedProcess(id: process, socket: ours)
    } catch {
      throw .system(operation: "start another process", reason: error.description)
    }
  }

  /// Returns how the process ended, in words; `nil` if it still runs.
  package func collect() -> String? {
    if let ending { return ending }
    switch Syscalls.collect(id) {
    case nil: return nil
    case .exited(let status): ending = "exited with status \(status)"
    case .signalled(let number): ending = "died of signal \(number)"
    }
    return ending
  }

  /// Waits until the process has ended, and returns how; its socket must have been closed.
  package func waitForEnd() -> String {
    Syscalls.waitUntilEnded(id)
    return collect() ?? "ended"
  }

  /// Ends the process at once; does nothing if it was collected.
  package func end() {
    if ending == nil { _ = kill(id, SIGKILL) }
  }
}

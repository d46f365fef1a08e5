/// Wakes an ``EventLoop`` from threads and signal handlers, and posts work to it; late work is
/// dropped.
package final class WakeUp: Sendable {
  private let readEnd: Int32
  private let writeEnd: Int32
  private let work = Locked<[@Sendable (EventLoop) -> Void]>([])

  init() throws(TransportError) {
    do throws(SystemError) {
      (readEnd, writeEnd) = try Syscalls.makePipe()
    } catch {
      throw .system(operation: "make a pipe", reason: error.description)
    }
    Syscalls.makeNonBlocking(readEnd)
    Syscalls.makeNonBlocking(writeEnd)
  }

  deinit {
    Syscalls.closeDescriptor(readEnd)
    Syscalls.closeDescriptor(writeEnd)
  }

  var descriptor: Int32 { readEnd }

  /// Starts another round of the loop; several calls before that count as one.
  package func signal() {
    // A full pipe wakes the loop just as well, and other errors cannot happen.
    let byte: [UInt8] = [1]
    _ = unsafe byte.withUnsafeBytes { bytes in unsafe try? Syscalls.writeBytes(writeEnd, bytes) }
  }

  /// Calls `body` on the loop's thread, in the order of posting.
  package func post(_ body: @escaping @Sendable (EventLoop) -> Void) {
    work.withLock { $0.append(body) }
    signal()
  }

  func drain() {
    unsafe withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { buffer in
      while let count = unsafe try? Syscalls.readBytes(readEnd, buffer), count == buffer.count {}
    }
  }

  func takeWork() -> [@Sendable (EventLoop) -> Void] {
    work.withLock { waiting in
      defer { waiting.removeAll() }
      return waiting
    }
  }
}

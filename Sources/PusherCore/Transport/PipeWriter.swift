/// Writes bytes to a pipe, then closes it; a reader that stops early is not an error.
final class PipeWriter: LoopSource {
  private let loop: EventLoop
  private var descriptor: Int32
  private let waiting: ByteBuffer

  /// Takes ownership of the descriptor, which must be non-blocking.
  init(loop: EventLoop, descriptor: Int32, bytes: [UInt8]) {
    (self.loop, self.descriptor) = (loop, descriptor)
    waiting = ByteBuffer(capacity: bytes.count)
    waiting.append(bytes)
    loop.add(self)
  }

  deinit { if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) } }

  var interest: LoopInterest { LoopInterest(descriptor: descriptor, events: .write) }

  func ready(_ events: PollEvents, at now: Instant) {
    do throws(SystemError) {
      while !waiting.isEmpty {
        guard let count = try unsafe Syscalls.writeQuietly(descriptor, waiting.view.raw) else {
          return
        }
        waiting.consume(count)
      }
    } catch { waiting.removeAll() }
    close()
  }

  func expired(at now: Instant) {}

  func close() {
    loop.remove(self)
    if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) }
    descriptor = -1
  }
}

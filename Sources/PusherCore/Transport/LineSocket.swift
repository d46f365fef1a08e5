/// Lines in both directions over one end of a local socket.
///
/// A reader that is slow makes lines wait in memory; the process at the other end is our own.
package final class LineSocket: LoopSource {
  private let loop: EventLoop
  private var descriptor: Int32
  private let input = ByteBuffer(capacity: 65_536)
  private let output = ByteBuffer(capacity: 4096)
  /// Number of bytes at the front of ``input`` without a newline.
  private var searched = 0
  /// Called with each whole line, without its newline.
  package var onLine: ((ByteView) -> Void)?
  /// Called once, after the other end has closed or the socket has failed.
  package var onEnd: (() -> Void)?

  /// Maximum size of a line, in bytes.
  package static let lineLimit = 64 << 20
  private static let readSize = 65_536

  /// Takes ownership of the descriptor, which must be non-blocking.
  package init(loop: EventLoop, descriptor: Int32) {
    (self.loop, self.descriptor) = (loop, descriptor)
    loop.add(self)
  }

  deinit { if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) } }

  /// Writes a line, at once as far as the socket takes it; does nothing after the end.
  package func send(_ line: String) {
    guard descriptor >= 0 else { return }
    output.append(line)
    output.append(UInt8(ascii: "\n"))
    flush()
  }

  /// True if every line was handed to the system.
  package var isFlushed: Bool { output.isEmpty || descriptor < 0 }

  package func close() {
    guard descriptor >= 0 else { return }
    loop.remove(self)
    Syscalls.closeDescriptor(descriptor)
    descriptor = -1
    output.removeAll()
  }

  package var interest: LoopInterest {
    let events: PollEvents = output.isEmpty ? .read : [.read, .write]
    return LoopInterest(descriptor: descriptor, events: events)
  }

  package func ready(_ events: PollEvents, at now: Instant) {
    if events.contains(.write) { flush() }
    if events.contains(.read) { read() }
  }

  package func expired(at now: Instant) {}

  private func flush() {
    do throws(SystemError) {
      while !output.isEmpty {
        guard let count = try unsafe Syscalls.sendBytes(descriptor, output.view.raw) else { return }
        output.consume(count)
      }
    } catch {
      // The other end is gone; reading reports it.
      output.removeAll()
    }
  }

  private func read() {
    guard descriptor >= 0 else { return }
    var hasMore = true
    let count = try? unsafe input.write(minimum: Self.readSize) {
      (free: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
      let count = try unsafe Syscalls.receiveBytes(descriptor, free)
      hasMore = count != 0
      return count ?? 0
    }
    takeLines()
    let isTooLong = searched > Self.lineLimit
    guard count == nil || !hasMore || isTooLong, descriptor >= 0 else { return }
    close()
    onEnd?()
  }

  private func takeLines() {
    // A line's receiver may close the socket.
    while descriptor >= 0 {
      guard let end = input.view.firstIndex(of: UInt8(ascii: "\n"), from: searched) else {
        searched = input.count
        return
      }
      onLine?(input.view[0..<end])
      input.consume(end + 1)
      searched = 0
    }
  }
}

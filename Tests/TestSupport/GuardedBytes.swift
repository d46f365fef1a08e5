package import PusherCore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Memory between two protected pages: an access outside it ends the program.
package final class GuardedBytes {
  private let whole: UnsafeMutableRawPointer
  private let size: Int
  private let page = Int(getpagesize())
  package let count: Int

  /// Allocates at least `room` bytes, rounded up to whole pages.
  package init(room: Int) {
    count = (max(room, 1) + page - 1) / page * page
    size = count + 2 * page
    guard
      let mapped = mmap(nil, size, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0), mapped != MAP_FAILED,
      mprotect(mapped + page, count, PROT_READ | PROT_WRITE) == 0
    else { fatalError("no memory between guards") }
    whole = mapped
  }

  deinit {
    munmap(whole, size)
  }

  /// The first byte after the front guard.
  package var start: UnsafeMutablePointer<UInt8> {
    (whole + page).assumingMemoryBound(to: UInt8.self)
  }

  /// The first byte of the back guard.
  package var end: UnsafeMutablePointer<UInt8> { start + count }

  /// Copies a message so that its padding ends `distance` bytes before the back guard.
  ///
  /// The ``ByteBuffer/padding`` bytes after the message contain digits, text, or quotes and
  /// brackets, by its length.
  package func view(_ message: [UInt8], beforeEnd distance: Int) -> ByteView {
    place(message, at: end - distance - ByteBuffer.padding - message.count)
  }

  /// Copies a message to `distance` bytes after the front guard, with padding.
  package func view(_ message: [UInt8], afterStart distance: Int) -> ByteView {
    place(message, at: start + distance)
  }

  private static let behind = [#"12\"3}],{\":45e6"#, "7", "x"].map { text in
    Array(String(repeating: text, count: ByteBuffer.padding).utf8)
  }

  private func place(_ message: [UInt8], at first: UnsafeMutablePointer<UInt8>) -> ByteView {
    let last = first + message.count + ByteBuffer.padding
    precondition(first >= start && last <= end, "no room between the guards")
    first.update(from: message, count: message.count)
    (first + message.count).update(
      from: Self.behind[message.count % 3], count: ByteBuffer.padding)
    return ByteView(base: first, count: message.count)
  }
}

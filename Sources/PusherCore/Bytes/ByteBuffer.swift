/// A queue of bytes in one growing allocation: written at the end, read in place at the front.
///
/// Transports read from a descriptor straight into it, and machines scan it without copies. At
/// least ``padding`` readable bytes follow the last byte, so that wide loads need no end checks.
@safe package final class ByteBuffer {
  /// Readable bytes after the last byte of any view.
  package static let padding = 64

  private var base: UnsafeMutablePointer<UInt8>
  private var start = 0
  private var end = 0
  private let initialCapacity: Int
  /// Private, so that the compiler can prove exclusive access.
  private var size: Int

  /// Creates an empty buffer that holds `capacity` bytes before it grows.
  package init(capacity: Int = 4096) {
    size = max(capacity, 64)
    initialCapacity = size
    unsafe base = .allocate(capacity: size + Self.padding)
    unsafe (base + size).initialize(repeating: 0, count: Self.padding)
  }

  deinit { unsafe base.deallocate() }

  package var count: Int { end &- start }
  package var isEmpty: Bool { end == start }
  /// Bytes that fit without growing, without the padding.
  package var capacity: Int { size }
  /// 0 if no byte waits, the whole capacity once the buffer has grown.
  package var heldBytes: Int { isEmpty ? 0 : size > initialCapacity ? size : count }
  package var writable: Int { size &- end }

  /// The waiting bytes in place, valid until the buffer is written to or reserved.
  package var view: ByteView {
    @inline(__always) get { unsafe ByteView(base: base + start, count: end &- start) }
  }

  @inline(__always) package func consume(_ count: Int) {
    precondition(count >= 0 && count <= end &- start, "consumed more than the buffer holds")
    start &+= count
    if start == end {
      start = 0
      end = 0
    }
  }

  /// Frees the memory of an unusually large message, too.
  package func removeAll() {
    start = 0
    end = 0
    guard size > initialCapacity else { return }
    reallocate(initialCapacity)
  }

  /// Makes room for `additional` bytes: first moves the waiting bytes to the front, then grows.
  @inline(__always) package func reserve(_ additional: Int) {
    if size &- end < additional { makeRoom(additional) }
  }

  /// `body` writes into at least `minimum` free bytes and returns the number written.
  package func write<Failure: Error>(
    minimum: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) -> Int {
    reserve(minimum)
    let written = try unsafe body(
      UnsafeMutableRawBufferPointer(start: base + end, count: size &- end))
    precondition(written >= 0 && written <= size &- end, "wrote past the free space")
    end &+= written
    return written
  }

  /// Address of the next byte, for writers that reserve first and then ``commit(_:)``.
  package var tail: UnsafeMutablePointer<UInt8> { @inline(__always) get { unsafe base + end } }

  /// Adds `count` bytes that were written at ``tail``.
  @inline(__always) package func commit(_ count: Int) {
    precondition(count >= 0 && count <= size &- end, "committed more than was reserved")
    end &+= count
  }

  package func truncate(to count: Int) {
    precondition(count >= 0 && count <= self.count, "truncated to more than the buffer holds")
    end = start &+ count
  }

  private func makeRoom(_ additional: Int) {
    let waiting = count
    if size &- waiting >= additional && start >= waiting {
      unsafe base.update(from: base + start, count: waiting)
      start = 0
      end = waiting
    } else {
      reallocate(max(size &* 2, waiting + additional))
    }
  }

  private func reallocate(_ newCapacity: Int) {
    let waiting = count
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity + Self.padding)
    unsafe grown.update(from: base + start, count: waiting)
    unsafe (grown + newCapacity).initialize(repeating: 0, count: Self.padding)
    unsafe base.deallocate()
    unsafe base = grown
    size = newCapacity
    start = 0
    end = waiting
  }
}

extension ByteBuffer {
  @inline(__always) package func append(_ byte: UInt8) {
    reserve(1)
    unsafe tail.pointee = byte
    commit(1)
  }

  @inline(__always) private func append(_ source: UnsafeBufferPointer<UInt8>) {
    guard let first = source.baseAddress else { return }
    reserve(source.count)
    unsafe tail.update(from: first, count: source.count)
    commit(source.count)
  }

  /// The view must not lie in this buffer.
  package func append(_ view: ByteView) {
    unsafe append(UnsafeBufferPointer(start: view.base, count: view.count))
  }

  package func append(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBufferPointer { unsafe append($0) }
  }

  package func append(_ text: String) {
    let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe append($0) }
    if isDone == nil { append(Array(text.utf8)) }
  }

  /// `number` must not be negative.
  package func append(decimal number: Int) {
    if number > 9 { append(decimal: number / 10) }
    append(UInt8(ascii: "0") + UInt8(number % 10))
  }

  /// Appends without an allocation.
  package func append(_ literal: StaticString) {
    unsafe append(UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  package var array: [UInt8] { view.array }
}

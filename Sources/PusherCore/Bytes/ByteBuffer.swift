internal import CSystemVectors

/// A queue of bytes in one growing allocation: written at the end, read in place at the front.
///
/// Transports read from a descriptor straight into it, and machines scan it without copies. At
/// least ``padding`` readable bytes follow the last byte, so that wide loads need no end checks.
/// Members that other modules use for each event are inlinable.
@safe @usableFromInline package final class ByteBuffer {
  /// Readable bytes after the last byte of any view.
  package static let padding = 64

  @usableFromInline private(set) var base: UnsafeMutablePointer<UInt8>
  @usableFromInline private(set) var start = 0
  @usableFromInline private(set) var end = 0
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

  @inlinable package var count: Int { end &- start }
  package var isEmpty: Bool { end == start }
  /// Bytes that fit without growing, without the padding.
  package var capacity: Int { size }
  /// 0 if no byte waits, the whole capacity once the buffer has grown.
  package var heldBytes: Int { isEmpty ? 0 : size > initialCapacity ? size : count }
  package var writable: Int { size &- end }

  /// The waiting bytes in place, valid until the buffer is written to or reserved.
  @inlinable package var view: ByteView {
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

  /// Replaces all bytes by those of a view that does not lie in this buffer.
  @inline(__always) func replace(with view: ByteView) {
    guard view.count <= 16, size == initialCapacity else {
      removeAll()
      return append(view)
    }
    // A short copy without a call; it may read and write the padding.
    let block = unsafe UnsafeRawPointer(view.base).loadUnaligned(as: SIMD16<UInt8>.self)
    unsafe UnsafeMutableRawPointer(base).storeBytes(of: block, as: SIMD16<UInt8>.self)
    (start, end) = (0, view.count)
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

/// A window on bytes in a buffer with another owner.
///
/// The bytes are valid until the owner next receives, consumes or clears, so a view is passed down
/// a call and never kept. At least ``ByteBuffer/padding`` bytes after the view belong to the same
/// allocation, so a wide load that begins inside the view never leaves it. What other modules do
/// for each event is inlinable.
@safe @usableFromInline package struct ByteView {
  /// The first byte; meaningless if `count` is 0.
  @usableFromInline package let base: UnsafeMutablePointer<UInt8>
  @usableFromInline package let count: Int

  @inlinable @inline(__always) package init(base: UnsafeMutablePointer<UInt8>, count: Int) {
    unsafe self.base = base
    self.count = count
  }

  @inlinable package var isEmpty: Bool { count == 0 }

  @inlinable package subscript(index: Int) -> UInt8 {
    precondition(index >= 0 && index < count, "index outside the view")
    return unsafe base[index]
  }

  @inlinable package subscript(range: Range<Int>) -> ByteView {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "range outside the view")
    return unsafe ByteView(base: base + range.lowerBound, count: range.count)
  }

  package var raw: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: base, count: count)
  }

  package var array: [UInt8] { unsafe [UInt8](raw) }

  /// The bytes as text; invalid UTF-8 becomes U+FFFD.
  package var text: String { unsafe String(decoding: raw, as: UTF8.self) }

  /// With `isASCII`, all bytes are known to be below 0x80.
  @inline(__always) package func text(isASCII: Bool) -> String {
    guard isASCII, #available(macOS 26, *) else { return text }
    let span = unsafe Span(_unsafeStart: UnsafePointer(base), count: count)
    return unsafe String(copying: UTF8Span(unchecked: span, isKnownASCII: true))
  }

  package func equals(_ bytes: [UInt8]) -> Bool {
    guard count == bytes.count else { return false }
    return unsafe bytes.withUnsafeBufferPointer { unsafe begins(with: $0) }
  }

  /// FNV-1a, for tables that also compare the bytes: anybody can find two texts of one value.
  package var shortHash: UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<count { hash = unsafe (hash ^ UInt64(base[index])) &* 0x100_0000_01B3 }
    return hash
  }

  package func begins(with beginning: ByteView) -> Bool {
    unsafe begins(with: UnsafeBufferPointer(start: beginning.base, count: beginning.count))
  }

  /// These bytes have no padding after them.
  private func begins(with beginning: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count >= beginning.count else { return false }
    let last = beginning.count &- 8
    guard last >= 0 else {
      for index in 0..<beginning.count where unsafe base[index] != beginning[index] { return false }
      return true
    }
    guard let other = beginning.baseAddress else { return true }
    let (left, right) = unsafe (UnsafeRawPointer(base), UnsafeRawPointer(other))
    var at = 0
    while true {
      let word = unsafe left.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      guard unsafe word == right.loadUnaligned(fromByteOffset: at, as: UInt64.self) else {
        return false
      }
      if at == last { return true }
      // The last word may begin inside the one before it.
      at = min(at &+ 8, last)
    }
  }

  package func equals(_ literal: StaticString) -> Bool {
    count == literal.utf8CodeUnitCount && begins(with: literal)
  }

  package func begins(with literal: StaticString) -> Bool {
    unsafe begins(
      with: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  package var isPrintableASCII: Bool { printableEnd(from: 0) >= count }

  /// Returns the place of the first byte from `start` on that is not printable ASCII; at least
  /// `count` if there is none.
  @inline(__always) func printableEnd(from start: Int) -> Int {
    var index = start
    while index < count {
      // The load may reach into the padding.
      let others = unsafe pusher_unprintable_32(base + index)
      if others != 0 { return index &+ others.trailingZeroBitCount }
      index &+= 32
    }
    return index
  }

  /// Returns the text from `start` to the quote that ends it, in a valid JSON string.
  package func stringBody(from start: Int) -> ByteView {
    var index = start
    while index < count {
      // The load may reach into the padding.
      let ends = unsafe pusher_string_ends_16(base + index)
      index &+= (ends | 1 &<< 16).trailingZeroBitCount
      guard ends != 0, index < count else { continue }
      if unsafe base[index] == UInt8(ascii: "\"") { break }
      index &+= 2
    }
    return self[start..<min(index, count)]
  }

  package func holds(_ byte: UInt8) -> Bool { firstIndex(of: byte) != nil }

  package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    var index = start
    while index < count {
      // The load may reach into the padding, which does not count.
      let matches = unsafe pusher_matches_32(base + index, byte)
      guard matches == 0 else {
        let found = index &+ matches.trailingZeroBitCount
        return found < count ? found : nil
      }
      index &+= 32
    }
    return nil
  }

  /// Returns `count` if there is no CR or LF at or after `start`.
  @inline(__always) package func lineEnd(from start: Int) -> Int {
    var index = start
    while index < count {
      // The load may reach into the padding, which does not count.
      let ends = unsafe pusher_line_ends_32(base + index)
      if ends != 0 { return min(index &+ ends.trailingZeroBitCount, count) }
      index &+= 32
    }
    return count
  }
}

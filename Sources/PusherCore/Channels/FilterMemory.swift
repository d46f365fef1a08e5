/// A filter that remembers its verdicts, so that a stream of few names costs no allocation and no matching.
///
/// Each name has one place, by its bytes; a name that shares it with another takes it over. It belongs to one thread.
package final class FilterMemory {
  private struct Verdict {
    /// Bytes of the name; more than ``longestName`` before there is one.
    var count = Int.max
    var passes = false
  }

  /// How many names are remembered; a power of two.
  private static let capacity = 256
  /// Longer names, which no known server allows, are matched each time.
  private static let longestName = 256

  private let filter: EventFilter
  private var verdicts = [Verdict](repeating: Verdict(), count: FilterMemory.capacity)
  /// The names, each at its place times ``longestName``.
  private let names = ByteBuffer(capacity: FilterMemory.capacity * FilterMemory.longestName)

  /// Names that did not pass, the first few of them, each once and in the order of their first events.
  package private(set) var refusedNames: [String] = []
  /// How many of these are kept.
  private static let mostRefused = 16

  package init(_ filter: EventFilter) {
    self.filter = filter
    names.commit(Self.capacity * Self.longestName)
  }

  /// Whether an event is wanted whose name, without escapes, is `name`.
  package func passes(_ name: ByteView) -> Bool {
    guard name.count <= Self.longestName else { return filter.passes(name.text) }
    let place = Self.place(of: name)
    let known = unsafe names.view.base + place &* Self.longestName
    let verdict = verdicts[place]
    if verdict.count == name.count, unsafe name.hasSameBytes(as: known) { return verdict.passes }
    let passes = passes(name.text)
    unsafe known.update(from: name.base, count: name.count)
    verdicts[place] = Verdict(count: name.count, passes: passes)
    return passes
  }

  /// Whether an event of this name is wanted.
  package func passes(_ name: String) -> Bool {
    if filter.passes(name) { return true }
    if refusedNames.count < Self.mostRefused, name.utf8.count <= Self.longestName,
      !refusedNames.contains(where: name.isSame)
    {
      refusedNames.append(name)
    }
    return false
  }

  /// The place of a name, by its first and last bytes and its length.
  @inline(__always)
  private static func place(of name: ByteView) -> Int {
    // Both loads stay among the bytes of the name and the padding after it.
    let bytes = unsafe UnsafeRawPointer(name.base)
    let first = unsafe bytes.loadUnaligned(as: UInt64.self)
    let last = unsafe bytes.loadUnaligned(
      fromByteOffset: max(0, name.count &- 8), as: UInt64.self)
    // Of a short name the bytes after it do not count; a shift by 64 leaves none.
    let unused = UInt64(max(0, 64 &- 8 &* name.count))
    let mixed = (first << unused) &+ (last << unused) &* 31 &+ UInt64(name.count)
    return Int(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) &>> 56)
  }
}

extension ByteView {
  /// Whether the same bytes stand at `other`, where as many must be readable, and the padding of a view.
  @inline(__always)
  fileprivate func hasSameBytes(as other: UnsafePointer<UInt8>) -> Bool {
    let left = unsafe UnsafeRawPointer(base)
    let right = unsafe UnsafeRawPointer(other)
    var index = 0
    while index < count {
      let difference =
        unsafe left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        ^ right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      // What the loads find after the last byte is shifted out.
      guard difference << UInt64(max(0, 64 &- 8 &* (count &- index))) == 0 else { return false }
      index &+= 8
    }
    return true
  }
}

/// Selects events by their printed names.
///
/// Laravel Echo puts a dot or a backslash before a complete name (`.order.created`,
/// `\App\Events\OrderShipped`), which the server does not send. So a pattern with this mark matches
/// the name with and without it.
package struct EventFilter: Sendable, Equatable {
  private let included: [Glob]
  private let excluded: [Glob]

  /// A wanted name matches one of `included`, or any if it is empty, and none of `excluded`.
  package init(include included: [String] = [], exclude excluded: [String] = []) {
    self.included = included.flatMap(Self.globs)
    self.excluded = excluded.flatMap(Self.globs)
  }

  private static func globs(_ pattern: String) -> [Glob] {
    let bytes = pattern.utf8
    guard let first = bytes.first, first == UInt8(ascii: ".") || first == UInt8(ascii: "\\") else {
      return [Glob(pattern)]
    }
    let isDoubled = first == UInt8(ascii: "\\") && bytes.dropFirst().first == first
    let rest = bytes.dropFirst(isDoubled ? 2 : 1)
    // A mark alone is not a name.
    return rest.isEmpty
      ? [Glob(pattern)] : [Glob(pattern), Glob(String(decoding: rest, as: UTF8.self))]
  }

  package var passesAll: Bool { included.isEmpty && excluded.isEmpty }

  package func passes(_ name: String) -> Bool {
    (included.isEmpty || included.contains { $0.matches(name) })
      && !excluded.contains { $0.matches(name) }
  }
}

/// A filter that remembers its verdicts: a stream of few names costs no allocation and no matching.
///
/// Each name has one slot, chosen by its bytes; another name of the same slot replaces it.
package final class FilterMemory {
  /// A power of two.
  private static let capacity = 256
  /// Longer names, which no known server allows, are matched each time.
  private static let longestName = 256

  private let filter: EventFilter
  /// The length of each slot's name, in bytes, and its verdict; an empty slot has ``Int/max``.
  private var verdicts = [(count: Int, passes: Bool)](
    repeating: (.max, false), count: FilterMemory.capacity)
  /// The names, each at its slot times ``longestName``.
  private let names = ByteBuffer(capacity: FilterMemory.capacity * FilterMemory.longestName)

  /// The first few rejected names, each once, in the order of their first events.
  package private(set) var refusedNames: [String] = []
  private static let mostRefused = 16

  package init(_ filter: EventFilter) {
    self.filter = filter
    names.commit(Self.capacity * Self.longestName)
  }

  /// Reports whether an event is wanted; `name` holds no escapes.
  package func passes(_ name: ByteView) -> Bool {
    guard name.count <= Self.longestName else { return filter.passes(name.text) }
    let place = Self.place(of: name)
    let known = unsafe names.view.base + place &* Self.longestName
    let verdict = verdicts[place]
    let former = unsafe ByteView(base: known, count: name.count)
    if verdict.count == name.count, former.begins(with: name) { return verdict.passes }
    let passes = passes(name.text)
    unsafe known.update(from: name.base, count: name.count)
    verdicts[place] = (name.count, passes)
    return passes
  }

  package func passes(_ name: String) -> Bool {
    if filter.passes(name) { return true }
    if refusedNames.count < Self.mostRefused, name.utf8.count <= Self.longestName,
      !refusedNames.contains(where: name.isSame)
    {
      refusedNames.append(name)
    }
    return false
  }

  @inline(__always) private static func place(of name: ByteView) -> Int {
    // Both loads stay inside the name and its padding.
    let bytes = unsafe UnsafeRawPointer(name.base)
    let first = unsafe bytes.loadUnaligned(as: UInt64.self)
    let last = unsafe bytes.loadUnaligned(fromByteOffset: max(0, name.count &- 8), as: UInt64.self)
    // The bytes after a short name are shifted out; a shift by 64 leaves none.
    let unused = UInt64(max(0, 64 &- 8 &* name.count))
    let mixed = (first << unused) &+ (last << unused) &* 31 &+ UInt64(name.count)
    return Int(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) &>> 56)
  }
}

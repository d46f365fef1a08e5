/// The last entries of a feed as encoded text, for readers who come later.
///
/// All texts share one ring of bytes, each behind its length. So the ring bounds the memory
/// exactly. The system provides the ring's pages as they are filled.
package struct EntryHistory: Sendable {
  /// Size of the ring, in bytes.
  package static let byteLimit = 4 << 20
  /// Size of the length before each text, in bytes.
  package static let lengthSize = 4

  private let countLimit: Int
  private let byteLimit: Int
  private var bytes: [UInt8] = []
  /// Place of the oldest entry in the ring.
  private var start = 0
  private var used = 0
  package private(set) var count = 0

  /// - Parameters:
  ///   - countLimit: Maximum number of entries, at least 1.
  ///   - byteLimit: Maximum size of texts and lengths, at most 4 GiB.
  package init(_ countLimit: Int, byteLimit: Int = EntryHistory.byteLimit) {
    (self.countLimit, self.byteLimit) = (countLimit, byteLimit)
    // Growth by copying would need more than the limit.
    bytes.reserveCapacity(byteLimit)
  }

  /// Adds an entry in place of the oldest ones; a text that does not fit leaves nothing behind.
  ///
  /// Entries must have consecutive numbers, so the entries before a missing one are dropped too.
  package mutating func add(_ text: String) {
    let size = text.utf8.count
    guard size <= byteLimit - Self.lengthSize else { return removeAll() }
    while count == countLimit || used + Self.lengthSize + size > byteLimit { removeFirst() }
    let length = (0..<Self.lengthSize).map { UInt8(truncatingIfNeeded: size >> (8 * $0)) }
    write(length[...])
    write(text.utf8[...])
    count += 1
  }

  /// Returns the texts after the oldest `skipped` ones, oldest first.
  package func texts(skipping skipped: Int) -> [String] {
    var texts: [String] = []
    var place = start
    for index in 0..<count {
      let size = length(at: place)
      if index >= skipped {
        texts.append(String(decoding: read(size, at: place + Self.lengthSize), as: UTF8.self))
      }
      place = (place + Self.lengthSize + size) % byteLimit
    }
    return texts
  }

  private mutating func removeAll() { (start, used, count) = ((start + used) % byteLimit, 0, 0) }

  private mutating func removeFirst() {
    let size = Self.lengthSize + length(at: start)
    start = (start + size) % byteLimit
    used -= size
    count -= 1
  }

  // MARK: The ring

  private func length(at place: Int) -> Int {
    read(Self.lengthSize, at: place).reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// Returns bytes that may continue at the ring's beginning; `place` may be beyond its end.
  private func read(_ count: Int, at place: Int) -> [UInt8] {
    let first = place % byteLimit
    let straight = min(count, byteLimit - first)
    return Array(bytes[first..<first + straight]) + bytes[..<(count - straight)]
  }

  private mutating func write<Text: Collection>(_ part: Text) where Text.Element == UInt8 {
    let first = (start + used) % byteLimit
    let straight = min(part.count, byteLimit - first)
    put(part.prefix(straight), at: first)
    put(part.dropFirst(straight), at: 0)
    used += part.count
  }

  /// Replaces bytes, and adds the ones for which the array has not grown yet.
  private mutating func put<Text: Collection>(_ part: Text, at place: Int)
  where Text.Element == UInt8 {
    let end = min(place + part.count, bytes.count)
    bytes.replaceSubrange(place..<end, with: part)
  }
}

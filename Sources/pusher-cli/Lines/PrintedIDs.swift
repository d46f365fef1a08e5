internal import PusherCore

/// Remembers the output position of each event's ID, to save the ID after its bytes are written.
///
/// A mark is a position and an ID. An unchanged ID needs no new mark; a mark is removed when its
/// position is written. Use each instance for one output, on one thread.
final class PrintedIDs {
  /// Marks in order: 8 bytes of position, 4 bytes of ID length, the ID.
  private let marks = ByteBuffer()
  /// ID of the last mark, kept after the mark is removed.
  private let last = ByteBuffer(capacity: 64)
  private var lastMarkSize = 0
  private let limit: Int
  private static let headSize = 12

  /// The first event follows the event `id`.
  ///
  /// Above `limit` bytes of waiting marks, IDs are saved later, but never ahead of the output.
  init(after id: String, limit: Int) {
    self.limit = limit
    last.append(id)
  }

  /// Notes that the event with this ID ends at `place`, in bytes from the start of the output.
  func note(_ id: ByteView, at place: Int) {
    guard isNew(id) else { return }
    last.removeAll()
    last.append(id)
    // Limits the marks of a stalled reader: replaces the last mark.
    if marks.count > limit { marks.truncate(to: marks.count - lastMarkSize) }
    lastMarkSize = Self.headSize + id.count
    marks.reserve(lastMarkSize)
    let head = unsafe UnsafeMutableRawPointer(marks.tail)
    unsafe head.storeBytes(of: UInt64(place), as: UInt64.self)
    unsafe head.storeBytes(of: UInt32(id.count), toByteOffset: 8, as: UInt32.self)
    marks.commit(Self.headSize)
    marks.append(id)
  }

  /// Returns the ID of the last event that ends by `written`; `nil` if there is no new one.
  func take(through written: Int) -> [UInt8]? {
    var last = 0..<0
    let view = marks.view
    var end = 0
    while let place = place(at: end, in: view, through: written) {
      last = place
      end = place.upperBound
    }
    guard end > 0 else { return nil }
    defer { marks.consume(end) }
    return view[last].array
  }

  /// Returns whether this ID differs from the last noted one.
  func isNew(_ id: ByteView) -> Bool { !Self.equal(last.view, id) }

  /// Returns the range of the ID in the mark at `start`, if its position has been written.
  private func place(at start: Int, in view: ByteView, through written: Int) -> Range<Int>? {
    guard start < view.count else { return nil }
    let head = unsafe UnsafeRawPointer(view.base + start)
    guard unsafe head.loadUnaligned(as: UInt64.self) <= UInt64(written) else { return nil }
    let count = Int(unsafe head.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    return start + Self.headSize..<start + Self.headSize + count
  }

  private static func equal(_ left: ByteView, _ right: ByteView) -> Bool {
    guard left.count == right.count else { return false }
    for index in 0..<left.count where unsafe left.base[index] != right.base[index] { return false }
    return true
  }
}

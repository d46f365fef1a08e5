internal import PusherCore

/// Remembers at which place of the output each event's id ends, to keep the id once its bytes are written.
///
/// Each mark is a place and an id. An id that does not change needs no new mark, and a mark goes when its place has
/// been written. One has one output and belongs to one thread.
final class PrintedIDs {
  /// Marks in their order: 8 bytes of the place, 4 of the id's length, the id.
  private let marks = ByteBuffer()
  /// The id of the last mark, also after that mark is gone.
  private let last = ByteBuffer(capacity: 64)
  private var lastMarkSize = 0
  private let limit: Int

  private static let headSize = 12

  /// - Parameters:
  ///   - id: The id before the first event.
  ///   - limit: How many bytes of marks may wait; then places are kept less exactly, never too far on.
  init(after id: String, limit: Int) {
    self.limit = limit
    last.append(id)
  }

  /// The event with this id ends at `place`, counted in bytes from the beginning of the output.
  func note(_ id: ByteView, at place: Int) {
    guard !Self.equal(last.view, id) else { return }
    last.removeAll()
    last.append(id)
    // The marks are bounded for a stalled reader: the last mark moves on instead.
    if marks.count > limit { marks.truncate(to: marks.count - lastMarkSize) }
    lastMarkSize = Self.headSize + id.count
    marks.reserve(lastMarkSize)
    let head = unsafe UnsafeMutableRawPointer(marks.tail)
    unsafe head.storeBytes(of: UInt64(place), as: UInt64.self)
    unsafe head.storeBytes(of: UInt32(id.count), toByteOffset: 8, as: UInt32.self)
    marks.commit(Self.headSize)
    marks.append(id)
  }

  /// The id of the last event that lies before `written` as a whole; nil when none was added to those known.
  ///
  /// - Parameter isWanted: Is asked about the last id, and about those before it as long as it says no.
  func take(through written: Int, where isWanted: ([UInt8]) -> Bool = { _ in true }) -> [UInt8]? {
    var places: [Range<Int>] = []
    var last = 0..<0
    let view = marks.view
    var end = 0
    while let place = place(at: end, in: view, through: written) {
      last = place
      end = place.upperBound
    }
    guard end > 0 else { return nil }
    defer { marks.consume(end) }
    let id = view[last].array
    if isWanted(id) { return id }
    // Seldom: from the beginning once more, to go back from the end.
    end = 0
    while let place = place(at: end, in: view, through: written) {
      places.append(place)
      end = place.upperBound
    }
    return places.reversed().lazy.map { view[$0].array }.first(where: isWanted)
  }

  /// Where the id of the mark that begins at `start` stands, if its place has been reached.
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

internal import CSystemVectors

/// The text between two values of JSON, as it was read and written.
///
/// `,\"price\":` became `,"price":`. It begins after a value, or with the bracket of one, and ends
/// where the next value begins. Its pointer stays inside the table of a ``JoinMemory``.
@safe struct Join {
  /// At most ``JoinMemory/longest`` count; the bytes after them mean nothing.
  fileprivate var bytes = SIMD32<UInt8>()
  fileprivate(set) var written = SIMD32<UInt8>()
  /// The open brackets before, with the kind of place; 0 is never asked for.
  fileprivate var key: UInt64 = 0
  /// The open brackets after.
  fileprivate(set) var levels: UInt64 = 0
  /// One bit for each byte that counts.
  fileprivate var mask: UInt32 = 0
  fileprivate(set) var count: UInt16 = 0
  fileprivate(set) var writtenCount: UInt16 = 0
  /// The shape of the number that followed this join the last time.
  fileprivate var number = NumberShape()
  /// True if the next join of the same hash takes the neighbouring place.
  fileprivate var yields = false
  /// The join that followed this one the last time, and is expected to follow again.
  fileprivate var next: UnsafeMutablePointer<Join>
}

/// The shape of a short number without an exponent.
struct NumberShape {
  /// One bit for each byte of the number and the byte after it.
  var mask: UInt32 = 0
  /// The bits of those bytes that are digits.
  var digits: UInt32 = 1
  /// Number of digits before the point.
  var whole: UInt16 = 0
  /// The byte after them: a point, or the byte after the number.
  var end: UInt16 = 0
  var count: UInt32 = 0
}

/// Remembers joins of earlier JSON, since most streams repeat names and brackets.
///
/// Nothing is trusted. What the grammar does with bytes depends only on them, on the open brackets
/// and on the kind of place: after a value, or at a bracket. A join has exactly these as its key,
/// and only bytes that the grammar has accepted. So equal bytes have the same result. A wrong
/// prediction costs a compare.
///
/// Each memory serves one spelling of quotes, on one thread. Its pointers stay inside the table,
/// which lives as long as the memory.
@safe package final class JoinMemory {
  /// Maximum size of a join, in bytes.
  static let longest = 32
  /// A power of two.
  private static let capacity = 256
  /// Number of joins that only predict the first join of a text, a power of two.
  private static let starts = 32
  /// Number of joins that one text may add, so that new names cost little.
  private static let usualCredit = 3
  /// Number of foreign texts in a row after which the memory rests, and of texts that it rests.
  private static let (patience, restingTexts) = (16, 32)
  /// A text that adds its joins within so many bytes hardly had another one.
  private static let foreignBeginning = 192

  /// Number of joins that the next text may add: none while the memory rests.
  private var credit = JoinMemory.usualCredit
  /// Number of texts in a row that were foreign, up to ``patience``.
  private var foreignTexts = 0
  private var restedTexts = 0
  /// The joins by hash, and then the starts.
  private let table: UnsafeMutablePointer<Join>

  package init() {
    unsafe table = .allocate(capacity: Self.capacity + Self.starts)
    unsafe table.initialize(repeating: Join(next: table), count: Self.capacity + Self.starts)
  }

  deinit { unsafe table.deallocate() }

  /// Notes a text that added no join more than it may.
  @inline(__always) func noteKnown() { foreignTexts = 0 }

  /// Notes a text that had used its credit after `count` bytes.
  @inline(never) func noteForeign(_ count: Int) {
    guard count < Self.foreignBeginning else { return }
    foreignTexts = min(foreignTexts &+ 1, Self.patience)
    if foreignTexts == Self.patience { credit = 0 }
  }

  /// Notes a text that could add no joins; after some of them, one may again.
  @inline(never) func noteRest() {
    restedTexts &+= 1
    guard restedTexts >= Self.restingTexts else { return }
    (restedTexts, credit) = (0, Self.usualCredit)
  }

  @inline(__always)
  private static func hash(_ value: UInt64) -> UInt64 { value &* 0x9E37_79B9_7F4A_7C15 }

  /// The address of ``Join/bytes``, the first member.
  @inline(__always)
  private static func bytes(of join: UnsafeMutablePointer<Join>) -> UnsafePointer<UInt8> {
    unsafe UnsafePointer(UnsafeRawPointer(join).assumingMemoryBound(to: UInt8.self))
  }

  /// Reports whether a place holds a join, by its first bytes.
  @inline(__always) private static func holds(
    _ join: UnsafeMutablePointer<Join>, _ input: UnsafePointer<UInt8>, _ mask: UInt32,
    _ key: UInt64
  ) -> Bool {
    unsafe join.pointee.mask == mask && join.pointee.key == key
      && pusher_differences_16(input, bytes(of: join)) & mask == 0
  }

  /// The joins of one JSON text, one after the other; valid as long as the memory.
  @safe struct Trail {
    private let table: UnsafeMutablePointer<Join>
    private var last: UnsafeMutablePointer<Join>
    /// Number of joins that this text may still add.
    private var credit: Int
    /// The bit of ``Join/key`` for joins that begin with a bracket; no depth reaches it.
    static let bracket: UInt64 = 1 << 63

    /// - Parameter kind: Equal for texts that probably begin alike; chooses the first prediction.
    @inline(__always) init(_ memory: JoinMemory, kind: UInt64) {
      unsafe table = memory.table
      credit = memory.credit
      let start = JoinMemory.hash(kind) &>> 59
      unsafe last = table + (JoinMemory.capacity &+ Int(truncatingIfNeeded: start))
    }

    /// True if this text may add joins.
    var learns: Bool { @inline(__always) get { credit > 0 } }

    /// The shape of the number that stood here the last time.
    var number: NumberShape {
      @inline(__always) get { unsafe last.pointee.number }
      @inline(__always) nonmutating set { unsafe last.pointee.number = newValue }
    }

    /// Calls `copy` with the predicted join if that stands at `input`, where 32 bytes are readable.
    ///
    /// The bytes of a join contain no NUL, so one in the input ends the match. `copy` gets true for
    /// a join of more than 16 bytes.
    @inline(__always) mutating func follow(
      _ input: UnsafePointer<UInt8>, _ key: UInt64, _ copy: (UnsafePointer<Join>, Bool) -> Void
    ) -> Bool {
      let join = unsafe last.pointee.next
      let bytes = unsafe JoinMemory.bytes(of: join)
      guard unsafe join.pointee.key == key,
        unsafe pusher_differences_16(input, bytes) & join.pointee.mask == 0
      else { return false }
      if unsafe join.pointee.count > 16 {
        guard unsafe pusher_differences_16(input + 16, bytes + 16) & join.pointee.mask &>> 16 == 0
        else { return false }
        unsafe copy(join, true)
      } else {
        unsafe copy(join, false)
      }
      unsafe last = join
      return true
    }

    /// Adds a join that the grammar has just read from `input` and written to `output`.
    ///
    /// At both addresses 32 bytes are readable, and neither count is above ``longest``.
    @inline(__always) mutating func add(
      _ input: UnsafePointer<UInt8>, _ count: Int, _ output: UnsafePointer<UInt8>,
      _ writtenCount: Int, key: UInt64, levels: UInt64
    ) {
      credit &-= 1
      let bytes = unsafe UnsafeRawPointer(input)
      var mixed = unsafe bytes.loadUnaligned(as: UInt64.self)
      if count < 8 {
        // The bytes after the join are shifted out.
        mixed &<<= UInt64(truncatingIfNeeded: 64 &- 8 &* count)
      } else {
        let end = unsafe bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        mixed = mixed &+ end &* 31
      }
      let place = Int(truncatingIfNeeded: JoinMemory.hash(mixed &+ key) &>> 56)
      let mask = UInt32.max &>> UInt32(truncatingIfNeeded: 32 &- count)
      var join = unsafe table + place
      if unsafe !JoinMemory.holds(join, input, mask, key) {
        // Two joins of one hash have room. They take turns, so that they settle.
        let other = unsafe table + (place ^ 1)
        let isKnown = unsafe JoinMemory.holds(other, input, mask, key)
        if !isKnown { unsafe join.pointee.yields.toggle() }
        if unsafe isKnown || join.pointee.yields { unsafe join = other }
      }
      unsafe join.pointee.bytes = bytes.loadUnaligned(as: SIMD32<UInt8>.self)
      unsafe join.pointee.written = UnsafeRawPointer(output).loadUnaligned(as: SIMD32<UInt8>.self)
      unsafe join.pointee.key = key
      unsafe join.pointee.levels = levels
      unsafe join.pointee.mask = mask
      unsafe join.pointee.count = UInt16(truncatingIfNeeded: count)
      unsafe join.pointee.writtenCount = UInt16(truncatingIfNeeded: writtenCount)
      unsafe last.pointee.next = join
      unsafe last = join
    }
  }
}

internal import CSystemVectors

/// A reading and a writing position that move side by side: the core of the hot path.
///
/// Three promises keep its unchecked pointers inside their buffers:
/// 1. The input ends in a NUL byte that the caller put there, the first byte of the view's
///    ``ByteBuffer/padding``. NUL is not a quote, digit, letter or bracket, so every scan stops at
///    it.
/// 2. Loads are at most 16 bytes wide and begin at or before the NUL; ``WindowCursor`` has wider
///    ones.
/// 3. The output has room for the input's bytes plus 32, because copies never grow.
@safe struct FusedCursor {
  var input: UnsafePointer<UInt8>
  var output: UnsafeMutablePointer<UInt8>

  @inline(__always) init(input: UnsafePointer<UInt8>, output: UnsafeMutablePointer<UInt8>) {
    unsafe self.input = input
    unsafe self.output = output
  }

  var byte: UInt8 { @inline(__always) get { unsafe input.pointee } }

  @inline(__always) func peek(_ distance: Int) -> UInt8 { unsafe input[distance] }

  @inline(__always) func word16(_ distance: Int = 0) -> UInt16 {
    unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: UInt16.self)
  }

  @inline(__always) func word32(_ distance: Int = 0) -> UInt32 {
    unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: UInt32.self)
  }

  @inline(__always) func word64(_ distance: Int = 0) -> UInt64 {
    unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: UInt64.self)
  }

  @inline(__always) mutating func skip(_ count: Int) { unsafe input += count }

  @inline(__always) mutating func put(_ byte: UInt8) {
    unsafe output.pointee = byte
    unsafe output += 1
  }

  @inline(__always) mutating func putEscape(_ byte: UInt8) {
    put(0x5C)
    put(byte)
  }

  /// Copies `count` bytes, at most 8, with one load and one store.
  @inline(__always) mutating func copyShort(_ count: Int) {
    unsafe UnsafeMutableRawPointer(output).storeBytes(of: word64(), as: UInt64.self)
    unsafe input += count
    unsafe output += count
  }

  /// Copies up to 16 bytes before a quote, a backslash or a control; returns true for all 16.
  @inline(__always) mutating func copyPlainRun() -> Bool {
    let block = unsafe UnsafeRawPointer(input).loadUnaligned(as: SIMD16<UInt8>.self)
    unsafe UnsafeMutableRawPointer(output).storeBytes(of: block, as: SIMD16<UInt8>.self)
    let mask = unsafe pusher_string_ends_16(input)
    if mask != 0 {
      step(mask.trailingZeroBitCount)
      return false
    }
    step(16)
    return true
  }

  /// Steps over what ``copyPlainRun()`` would copy.
  @inline(__always) mutating func skipPlainRun() -> Bool {
    let mask = unsafe pusher_string_ends_16(input)
    skip(mask == 0 ? 16 : mask.trailingZeroBitCount)
    return mask == 0
  }

  @inline(__always) private mutating func step(_ count: Int) {
    unsafe input += count
    unsafe output += count
  }

  @inline(__always) mutating func copyDigitRun() -> Int {
    let word = word64()
    unsafe UnsafeMutableRawPointer(output).storeBytes(of: word, as: UInt64.self)
    let high: UInt64 = 0x8080_8080_8080_8080
    let shifted = word ^ 0x3030_3030_3030_3030
    let mask = ((shifted &+ 0x7676_7676_7676_7676) | shifted) & high
    let count = mask == 0 ? 8 : mask.trailingZeroBitCount &>> 3
    step(count)
    return count
  }
}

extension ByteView {
  /// Calls `body` while a NUL, which stops every scan, replaces the byte after the view.
  @inline(__always) func withNUL<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    let end = unsafe base + count
    let byte = unsafe end.pointee
    unsafe end.pointee = 0
    defer { unsafe end.pointee = byte }
    return unsafe body(UnsafePointer(end))
  }
}

/// Its bytes stay in one place, so that a line neither copies nor counts references.
package final class LeadingMembers {
  private let bytes = ByteBuffer(capacity: 64)

  package init() {}

  /// The value must need no escapes.
  package func set(_ name: StaticString, _ value: String) {
    bytes.removeAll()
    bytes.append(#"{""# as StaticString)
    bytes.append(name)
    bytes.append(#"":""# as StaticString)
    bytes.append(value)
    bytes.append(UInt8(ascii: "\""))
  }

  package func removeAll() { bytes.removeAll() }

  var count: Int { bytes.count }

  package func begin(_ output: ByteBuffer) {
    output.append(bytes.view)
    output.append(bytes.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
  }

  /// Writes the members before a line at `start`, whose `{` becomes `,`.
  @inline(__always) func write(before start: UnsafeMutablePointer<UInt8>) {
    guard !bytes.isEmpty else { return }
    let leading = bytes.view
    unsafe (start - leading.count).update(from: leading.base, count: leading.count)
    unsafe start.pointee = UInt8(ascii: ",")
  }
}

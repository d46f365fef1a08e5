internal import CSystemVectors

/// Writes an event of a stream as its JSON line in one pass, above all for data that is JSON.
///
/// The line is `{"event":TYPE,"id":ID,"data":DATA}`, without `id` if there is none.
package enum EventStreamTranscoder {
  /// Includes the bytes that a copy may write past the end.
  private static let overhead = 96

  /// Returns `false`, with nothing appended, for events of an unusual shape.
  package static func append(
    _ event: EventStreamEvent, to output: ByteBuffer, leading: LeadingMembers, terminator: UInt8,
    joins: JoinMemory
  ) -> Bool {
    output.reserve(
      leading.count &+ event.type.count &+ event.lastEventID.count &+ event.data.count &+ overhead)
    let start = unsafe output.tail + leading.count
    var end = unsafe start
    unsafe put(#"{"event":""#, to: &end)
    guard unsafe copyPlain(event.type, to: &end) else { return false }
    if !event.lastEventID.isEmpty {
      unsafe put(#"","id":""#, to: &end)
      guard unsafe copyPlain(event.lastEventID, to: &end) else { return false }
    }
    unsafe put(#"","data":"#, to: &end)
    guard unsafe FusedCursor.copy(event.data, to: &end, { $0.copyPlainValue(joins) }) else {
      return false
    }
    unsafe end[0] = UInt8(ascii: "}")
    unsafe end[1] = terminator
    unsafe leading.write(before: start)
    output.commit(unsafe leading.count &+ (end + 2 - start))
    return true
  }

  @inline(__always)
  private static func put(_ literal: StaticString, to end: inout UnsafeMutablePointer<UInt8>) {
    unsafe end.update(from: literal.utf8Start, count: literal.utf8CodeUnitCount)
    unsafe end += literal.utf8CodeUnitCount
  }

  @inline(__always) private static func copyPlain(
    _ text: ByteView, to end: inout UnsafeMutablePointer<UInt8>
  ) -> Bool {
    guard text.count <= 16 else {
      return unsafe FusedCursor.copy(text, to: &end) { cursor in
        cursor.copyUnescaped()
        return true
      }
    }
    // One block, which may reach into the padding.
    let mask = UInt32(1) &<< UInt32(truncatingIfNeeded: text.count) &- 1
    guard unsafe pusher_string_ends_16(text.base) & mask == 0 else { return false }
    let block = unsafe UnsafeRawPointer(text.base).loadUnaligned(as: SIMD16<UInt8>.self)
    unsafe UnsafeMutableRawPointer(end).storeBytes(of: block, as: SIMD16<UInt8>.self)
    unsafe end += text.count
    return true
  }
}

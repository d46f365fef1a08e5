internal import PusherCore

/// Writes to descriptor 2; a reader that has stopped reading cannot block the program.
///
/// A message waits briefly for room. Without room it is dropped, and so are later ones until there
/// is room again. The next message is preceded by the number of dropped ones. A line is one
/// `write(2)` up to the size that a pipe takes as a whole.
final class StandardError: @unchecked Sendable {
  // Sendable: only the main thread uses it, but ``Diagnostics`` holds it and must be Sendable.
  static let shared = StandardError(2)

  /// `nil` if descriptor 2 is closed: messages are dropped.
  private let descriptor: OutputDescriptor?
  private var isStalled = false
  /// True if the last line was cut, so that the next one needs a newline first.
  private var isCut = false
  private var leftOut = 0

  /// Maximum wait of a message, in milliseconds, and its number of turns.
  private static let patience: Int32 = 200
  private static let turns = 20
  /// Maximum size of a write that does not block after `poll` reports room.
  private static let pieceSize = 4096

  init(_ descriptor: Int32) { self.descriptor = OutputDescriptor(descriptor, enlargesPipe: false) }

  /// Writes a whole line, or counts it as dropped; a failure cannot be reported.
  func write(_ line: [UInt8], warning: StaticString = MessagePaint.plain.warning) {
    guard let descriptor else { return }
    var bytes = isCut ? [UInt8(ascii: "\n")] : []
    if leftOut > 0 {
      bytes += "pusher-cli: \(warning)\(leftOut) messages were dropped: nobody read them\n".utf8
    }
    // Size of the report about dropped lines, which is made once these bytes are written.
    let told = bytes.count
    bytes += line
    var rest = bytes[...]
    var turns = isStalled ? 1 : Self.turns
    while !rest.isEmpty {
      let outcome = unsafe rest.prefix(Self.pieceSize).withUnsafeBytes {
        unsafe descriptor.write($0)
      }
      switch outcome {
      case .written(let count): rest = rest.dropFirst(count)
      case .failed: return
      case .wouldBlock:
        turns -= 1
        guard turns > 0 else { return leaveOut(written: bytes.count - rest.count, told: told) }
        wait(for: descriptor)
      }
    }
    isStalled = false
    isCut = false
    leftOut = 0
  }

  /// Drops a line; the next one ends a part that was written.
  private func leaveOut(written: Int, told: Int) {
    isStalled = true
    // The report of dropped lines ends with a newline.
    isCut = written > 0 ? written != told : isCut
    if written >= told { leftOut = 0 }
    leftOut += 1
  }

  /// Waits briefly for room, never without end: a terminal may report room and accept nothing.
  private func wait(for descriptor: OutputDescriptor) {
    let pause = Self.patience / Int32(Self.turns)
    if SystemCalls.hasRoom(descriptor.number, milliseconds: pause) {
      SystemCalls.pause(milliseconds: 1)
    }
  }
}

/// Descriptor 2, written so that a reader that has stopped reading cannot stop the program.
///
/// A message waits a moment for room. When none comes it is left out, and so is what follows until there is room
/// again; then the next message is preceded by how many were left out. A line is one `write(2)` up to the size that a
/// pipe takes whole.
final class StandardError: @unchecked Sendable {
  // Sendable because it is used by the main thread alone; the voices that hold it must be passed on freely.

  /// The process's own.
  static let shared = StandardError(2)

  /// `nil` when it is closed: then messages are dropped.
  private let descriptor: OutputDescriptor?
  private var isStalled = false
  /// Whether the last line was cut, so that the next must begin anew.
  private var isCut = false
  private var leftOut = 0

  /// How long a message waits, in milliseconds, and in how many turns.
  private static let patience: Int32 = 200
  private static let turns = 20
  /// The largest write to a pipe that does not wait once `poll` calls it writable.
  private static let pieceSize = 4096

  init(_ descriptor: Int32) {
    self.descriptor = OutputDescriptor(descriptor, enlargesPipe: false)
  }

  /// Writes a whole line, or counts it among those that were left out.
  ///
  /// A failure ends the attempt, because it cannot be reported.
  ///
  /// - Parameter warning: How warnings begin.
  func write(_ line: [UInt8], warning: StaticString = MessagePaint.plain.warning) {
    guard let descriptor else { return }
    var bytes = isCut ? [UInt8(ascii: "\n")] : []
    if leftOut > 0 {
      bytes +=
        "pusher-cli: \(warning)\(leftOut) messages were left out: nobody read them\n".utf8
    }
    // Whether a line was lost is known before it begins; of those before it, once they have been told.
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

  /// What was begun is ended as soon as there is room.
  private func leaveOut(written: Int, told: Int) {
    isStalled = true
    // After the lines that tell of others a new one begins anyway.
    isCut = written > 0 ? written != told : isCut
    if written >= told { leftOut = 0 }
    leftOut += 1
  }

  /// Waits a moment for room; a terminal may call itself writable and take nothing, so never without end.
  private func wait(for descriptor: OutputDescriptor) {
    let pause = Self.patience / Int32(Self.turns)
    if SystemCalls.hasRoom(descriptor.number, milliseconds: pause) { SystemCalls.pause() }
  }
}

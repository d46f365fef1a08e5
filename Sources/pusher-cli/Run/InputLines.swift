internal import PusherCore
internal import PusherPlatform

/// Lines of standard input, read on the loop so that signals are handled meanwhile.
final class InputLines: LoopSource {
  /// Maximum length of a line without its newline, in bytes.
  static let lineLimit = 16 << 20
  private static let readSize = 65_536

  /// Called after bytes or the end came.
  var onInput: (() -> Void)?
  var isPaused = false
  private let buffer = ByteBuffer(capacity: readSize)
  /// Number of bytes at the front without a newline.
  private var searched = 0
  private(set) var hasEnded = false
  private(set) var failure: String?
  /// Number of the last line from ``next()``.
  private(set) var number = 0

  /// Returns the next line without its newline; nil if there is no whole line.
  func next() -> [UInt8]? {
    let view = buffer.view
    while searched < view.count, view[searched] != UInt8(ascii: "\n") { searched += 1 }
    let isWhole = searched < view.count
    guard isWhole || hasEnded && !view.isEmpty else {
      if searched > Self.lineLimit {
        failure = "line \(number + 1) is longer than the limit of \(Self.lineLimit) bytes"
        hasEnded = true
        buffer.removeAll()
        searched = 0
      }
      return nil
    }
    let line = view[0..<searched].array
    buffer.consume(searched + (isWhole ? 1 : 0))
    searched = 0
    number += 1
    return line
  }

  var interest: LoopInterest {
    hasEnded || isPaused ? LoopInterest() : LoopInterest(descriptor: 0, events: .read)
  }

  func ready(_ events: PollEvents, at now: Instant) {
    do throws(SystemError) {
      _ = try unsafe buffer.write(minimum: Self.readSize) { free throws(SystemError) -> Int in
        let count = unsafe read(0, free.baseAddress, Self.readSize)
        // Code 0 is the end.
        guard count > 0 else { throw SystemError(code: count < 0 ? errno : 0) }
        return count
      }
    } catch {
      hasEnded = error.code != EINTR && error.code != EAGAIN
      if hasEnded, error.code != 0 { failure = "cannot read standard input: \(error)" }
    }
    onInput?()
  }
}

extension Sequence<UInt8> {
  var isBlankLine: Bool { allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } }
}

internal import PusherCore
internal import PusherPlatform

/// A POSIX extended regular expression, compiled by the C library.
///
/// The class owns the memory of the compiled form, which nothing changes after `init`: regexec(3)
/// only reads it, so several threads may use it.
@safe final class ExtendedPattern: TextPattern, @unchecked Sendable {
  private let compiled: UnsafeMutablePointer<regex_t>

  /// Maximum size of a reason of the C library, in bytes.
  private static let reasonSize = 256

  init(_ text: String) throws(WhereFault) {
    try Self.check(text)
    let memory = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
    unsafe memory.initialize(to: regex_t())
    let code = unsafe regcomp(memory, text, REG_EXTENDED | REG_NOSUB)
    guard code == 0 else {
      let reason = unsafe Self.reason(code, memory)
      unsafe memory.deallocate()
      throw .badPattern(reason)
    }
    unsafe compiled = memory
  }

  deinit {
    unsafe regfree(compiled)
    unsafe compiled.deallocate()
  }

  /// Rejects what the C library would misread or search slowly.
  ///
  /// Extended expressions have no back-references. Some libraries know them, and need time that
  /// grows exponentially with the text.
  private static func check(_ text: String) throws(WhereFault) {
    var isEscaped = false
    for byte in text.utf8 {
      if byte == 0 { throw .badPattern("it holds a NUL") }
      if isEscaped, 0x31...0x39 ~= byte {
        throw .badPattern("extended regular expressions have no back-references")
      }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
    }
  }

  private static func reason(_ code: Int32, _ memory: UnsafeMutablePointer<regex_t>) -> String {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: reasonSize) { buffer, count in
      let size = unsafe buffer.withMemoryRebound(to: CChar.self) {
        unsafe regerror(code, memory, $0.baseAddress, $0.count)
      }
      // The size counts the NUL, also of a reason that was cut.
      count = max(0, min(Int(size), reasonSize) - 1)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func matches(_ text: ByteView, isCut: Bool) -> Bool {
    // For the C library a text ends at its first NUL; `$` must not match there.
    let isBroken = isCut || text.holds(0)
    return unsafe text.base.withMemoryRebound(to: CChar.self, capacity: text.count + 1) {
      unsafe regexec(compiled, $0, 0, nil, isBroken ? REG_NOTEOL : 0) == 0
    }
  }
}

extension SettingsReader {
  /// Returns the conditions of `--where` or `--fail-where`.
  func conditions(of flag: Flag) throws(UsageError) -> [WhereClause] {
    try typed.texts(flag).map { (text: String) throws(UsageError) in
      do throws(WhereFault) {
        return try WhereClause(text) { (pattern: String) throws(WhereFault) in
          try ExtendedPattern(pattern)
        }
      } catch {
        // A long text would fill the screen.
        if case .tooLong = error { throw UsageError("\(flag.spelling): \(error)") }
        throw UsageError("\(flag.spelling) '\(text)': \(error)")
      }
    }
  }
}

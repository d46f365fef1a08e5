internal import PusherCore
internal import PusherPlatform

/// The file of `--console-token-file`: the console's token for this run and later ones.
enum ConsoleTokenFile {
  /// Length of a token: a shorter one could be guessed, and a longer one does not fit an address.
  static let lengths = 16...256
  private static let fileLimit = 1024
  private static let tries = 3
  private static let flag = Flag.consoleTokenFile.spelling

  /// Returns the token of the file; makes the file, with a new token, if it is missing.
  ///
  /// - Parameter tell: Receives what was done, for `-v`.
  /// - Throws: ``UsageError`` for a file that other users can read or change, that holds anything
  ///   but a token, or that cannot be read or made.
  static func token(in path: String, tell: (String) -> Void) throws(UsageError) -> String {
    // Another run may make the file at the same time; its token is then the one of both.
    for _ in 0..<tries {
      if let token = try stored(path) {
        tell("\(flag): the console has the token of '\(path)'")
        return token
      }
      if let token = try make(path) {
        tell("\(flag): made '\(path)' with a new token")
        return token
      }
    }
    throw UsageError("\(flag): cannot make '\(path)': it is a link to a file that is missing")
  }

  private static func stored(_ path: String) throws(UsageError) -> String? {
    guard FileReplacement.place(path, followsLinks: true) != .success(.nothing) else { return nil }
    switch FileAccess.running().read(path, fileLimit) {
    case .failure(let fault):
      throw UsageError("\(flag): cannot read '\(path)': \(fault.reason)")
    case .success(let content):
      if let doubt = content.holders?.doubt {
        throw UsageError("\(flag): \(doubt.words("'\(path)'", at: path))")
      }
      guard let token = token(content.bytes) else {
        throw UsageError(
          "\(flag): '\(path)' is not a token of \(lengths.lowerBound) to \(lengths.upperBound) "
            + "letters, digits, '-', '.', '_' or '~' on one line; remove it, and serve makes one")
      }
      return token
    }
  }

  /// Returns a token of characters that stand for themselves in a URL (RFC 3986, section 2.3).
  private static func token(_ bytes: [UInt8]) -> String? {
    var line = bytes[...]
    if line.last == 0x0A { line.removeLast() }
    if line.last == 0x0D { line.removeLast() }
    let isPlain = line.allSatisfy { byte in
      byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || "-._~".utf8.contains(byte)
    }
    return isPlain && lengths.contains(line.count) ? String(decoding: line, as: UTF8.self) : nil
  }

  /// Makes the file; `nil` if the name is taken by now.
  private static func make(_ path: String) throws(UsageError) -> String? {
    let token = Hex.encode(SecureRandom.bytes(16))
    let bytes = Array((token + "\n").utf8)
    let draft = "\(path).pusher-cli-new-\(getpid())"
    // Otherwise a power cut could leave an empty file under the final name.
    switch FileReplacement.establish(path, with: bytes, draft: draft, prepare: { fsync($0) == 0 }) {
    case .success(let descriptor): close(descriptor)
    case .failure(let error) where error.code == EEXIST: return nil
    case .failure: guard try writeInPlace(bytes, path) else { return nil }
    }
    return token
  }

  /// Makes the file on a file system without links; returns false if the name is taken.
  private static func writeInPlace(_ bytes: [UInt8], _ path: String) throws(UsageError) -> Bool {
    let descriptor = FileReplacement.create(path)
    if descriptor < 0, errno == EEXIST { return false }
    guard descriptor >= 0 else {
      throw UsageError("\(flag): cannot make '\(path)': \(SystemError(code: errno))")
    }
    defer { close(descriptor) }
    guard let fault = SystemCalls.writeWhole(bytes, to: descriptor) else { return true }
    unsafe unlink(path)
    throw UsageError("\(flag): cannot make '\(path)': \(fault)")
  }
}

internal import PusherCore

enum HostName {
  /// Returns true for `localhost`, an address, or a name with a dot and a last label of letters.
  static func isLikely(_ word: String) -> Bool {
    let bytes = Array(word.utf8)
    let colons = bytes.filter { $0 == UInt8(ascii: ":") }.count
    if colons > 1 { return bytes.allSatisfy { Self.isOfAddress6($0) } }
    let host = bytes.prefix { $0 != UInt8(ascii: ":") }
    let port = bytes.dropFirst(host.count).dropFirst()
    guard port.allSatisfy(isDigit), !port.isEmpty || colons == 0 else { return false }
    let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard labels.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isOfLabel) }) else { return false }
    if labels.count == 4, labels.allSatisfy({ $0.allSatisfy(isDigit) }) { return true }
    guard let last = labels.last else { return false }
    return last.elementsEqual("localhost".utf8)
      || labels.count > 1 && last.count > 1 && last.allSatisfy(isLetter)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
  private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

  private static func isOfLabel(_ byte: UInt8) -> Bool {
    isDigit(byte) || isLetter(byte) || byte == UInt8(ascii: "-")
  }

  private static func isOfAddress6(_ byte: UInt8) -> Bool {
    isDigit(byte) || (byte | 0x20) &- 0x61 < 6 || ":.[]".utf8.contains(byte)
  }
}

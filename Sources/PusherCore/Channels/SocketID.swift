/// The form of socket ids: two numbers with a dot between, never parsed as numbers because some exceed 32 bits.
package enum SocketID {
  /// No server gives out longer ids, and commands get the id as a variable, so a longer text is refused.
  private static let longest = 100

  /// Whether `text` has the form `^\d+\.\d+$`.
  package static func isValid(_ text: String) -> Bool {
    guard text.utf8.count <= longest else { return false }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 2
      && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0 &- 0x30 < 10 } }
  }
}

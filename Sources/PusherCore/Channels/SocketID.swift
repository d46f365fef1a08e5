/// The form of socket ids: two numbers with a dot between, never taken as numbers because some exceed 32 bits.
package enum SocketID {
  /// Whether `text` has the form `^\d+\.\d+$`.
  package static func isValid(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 2
      && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0 &- 0x30 < 10 } }
  }
}

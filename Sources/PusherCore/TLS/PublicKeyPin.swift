/// The SHA-256 of a public key as certificates hold it (SubjectPublicKeyInfo, DER): what RFC 7469 calls a pin.
package struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
  /// 32 bytes.
  package let digest: [UInt8]

  /// A pin from the 32 bytes of its digest; `nil` for another number.
  package init?(digest: [UInt8]) {
    guard digest.count == 32 else { return nil }
    self.digest = digest
  }

  /// A pin as curl writes it, `sha256//` and 44 characters of Base64; `sha256/` or no prefix will do too.
  package init?(_ text: String) {
    // The length decides which prefix it is: the Base64 of every 64th key begins with "/" itself.
    for prefix in ["", "sha256/", "sha256//"]
    where text.hasPrefix(prefix) && text.utf8.count == prefix.utf8.count + 44 {
      guard let digest = Base64.decode(String(text.dropFirst(prefix.count))) else { return nil }
      self.init(digest: digest)
      return
    }
    return nil
  }

  package var description: String { "sha256/\(Base64.encode(digest))" }
}

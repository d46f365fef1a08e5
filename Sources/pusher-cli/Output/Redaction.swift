/// Takes signatures and keys of channels out of what is shown.
enum Redaction {
  /// As many hexadecimal digits in a row are a signature (HMAC-SHA256) and are not shown.
  private static let signatureLength = 64

  /// The text with every signature, and the value of every `auth` and `shared_secret` member, replaced by `…`.
  static func redact(_ message: String) -> String {
    var result = withoutSignatures(message)
    for name in ["auth", "shared_secret"] {
      // As a member of the message, and inside a string of JSON.
      for opening in ["\"\(name)\":\"", "\\\"\(name)\\\":\\\""] {
        let closing: Character = opening.hasPrefix("\\") ? "\\" : "\""
        let pieces = result.split(separator: opening, omittingEmptySubsequences: false)
        guard pieces.count > 1 else { continue }
        result =
          pieces[0]
          + pieces.dropFirst().map { piece in
            opening + "…" + piece[(piece.firstIndex(of: closing) ?? piece.endIndex)...]
          }.joined()
      }
    }
    return result
  }

  private static func withoutSignatures(_ text: String) -> String {
    guard text.utf8.count >= signatureLength else { return text }
    var result = ""
    var run = ""
    for character in text {
      if character.isHexDigit, character.isASCII {
        run.append(character)
        continue
      }
      result += run.utf8.count >= signatureLength ? "…" : run
      run = ""
      result.append(character)
    }
    return result + (run.utf8.count >= signatureLength ? "…" : run)
  }
}

internal import PusherCore
internal import PusherServer

/// Access to the console: a request needs the token of the run.
///
/// Pages of other origins have no token and cannot read an answer: the console sends no CORS
/// fields. The `Origin` field still betrays a page that learned the token.
struct ConsoleAccess {
  private let token: [UInt8]

  init(token: String) { self.token = Array(token.utf8) }

  func refusal(_ head: HTTPRequestHead) -> HTTPAnswer? {
    guard isOwn(head) else { return .refusal(403, "the console answers only its own page") }
    guard let given = token(in: head),
      Digest.equalInConstantTime(Digest.sha256(Array(given.utf8)), Digest.sha256(token))
    else {
      return .refusal(
        403, "the console needs the token of this run: open the address that serve printed")
    }
    return nil
  }

  /// Reads the `Authorization` field, or the query if the method changes nothing.
  private func token(in head: HTTPRequestHead) -> String? {
    if let field = head.headers["Authorization"] {
      let words = field.utf8.split(separator: 0x20, omittingEmptySubsequences: true)
      guard words.count == 2, String(Substring(words[0])).lowercased() == "bearer" else {
        return nil
      }
      return String(Substring(words[1]))
    }
    guard head.method == "GET" || head.method == "HEAD" else { return nil }
    return RequestTarget(head.target)?["token"]
  }

  /// Excludes pages of other origins (the Fetch standard; Fetch Metadata, section
  /// "Sec-Fetch-Site").
  private func isOwn(_ head: HTTPRequestHead) -> Bool {
    let sites = head.headers.all("Sec-Fetch-Site")
    guard sites.allSatisfy({ ["same-origin", "none"].contains($0) }) else { return false }
    let origins = head.headers.all("Origin")
    guard let host = head.headers["Host"] else { return origins.isEmpty }
    // A proxy in front of this server may use TLS, so both schemes are valid.
    return origins.allSatisfy {
      $0.lowercased() == "http://\(host.lowercased())"
        || $0.lowercased() == "https://\(host.lowercased())"
    }
  }
}

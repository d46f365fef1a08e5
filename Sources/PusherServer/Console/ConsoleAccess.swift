internal import PusherCore

/// Who may use the console: a request with the token of the run, of a program or of the console's own page.
///
/// A page of another origin has no token, and could not read an answer: nothing here lets other origins in. Should it learn
/// the token all the same, its `Origin` gives it away.
struct ConsoleAccess {
  private let token: [UInt8]

  init(token: String) {
    self.token = Array(token.utf8)
  }

  /// Why a request is refused; `nil` when it is allowed.
  func refusal(_ head: HTTPRequestHead) -> HTTPAnswer? {
    guard isOwn(head) else {
      return .refusal(403, "the console answers its own page only")
    }
    guard let given = token(in: head),
      Digest.equalInConstantTime(Digest.sha256(Array(given.utf8)), Digest.sha256(token))
    else {
      return .refusal(
        403, "the console needs the token of this run: open the address that serve has printed")
    }
    return nil
  }

  /// The token in the `Authorization` field; where nothing is changed also the one in the query.
  private func token(in head: HTTPRequestHead) -> String? {
    if let field = head.headers["Authorization"] {
      let words = field.utf8.split(separator: 0x20, omittingEmptySubsequences: true)
      guard words.count == 2, String(Substring(words[0])).lowercased() == "bearer" else {
        return nil
      }
      return String(Substring(words[1]))
    }
    guard head.method == "GET" || head.method == "HEAD" else { return nil }
    return RequestTarget(head.target, prefix: "")?["token"]
  }

  /// Whether no page of another origin asks (the Fetch standard; Fetch Metadata, section "Sec-Fetch-Site").
  private func isOwn(_ head: HTTPRequestHead) -> Bool {
    let sites = head.headers.all("Sec-Fetch-Site")
    guard sites.allSatisfy({ ["same-origin", "none"].contains($0) }) else { return false }
    let origins = head.headers.all("Origin")
    guard let host = head.headers["Host"] else { return origins.isEmpty }
    // A proxy before this server may speak TLS, so the scheme may be either.
    return origins.allSatisfy {
      $0.lowercased() == "http://\(host.lowercased())"
        || $0.lowercased() == "https://\(host.lowercased())"
    }
  }
}

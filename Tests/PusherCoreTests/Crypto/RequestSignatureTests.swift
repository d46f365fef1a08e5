import PusherCore
import Testing

/// Signatures of the HTTP API, computed as on the page "HTTP API", section "Authentication".
@Suite struct RequestSignatureTests {
  private let secret = Array("7ad3773142a6692b25b8".utf8)

  private func sign(_ text: String) -> String {
    Hex.encode(Digest.hmacSHA256(Array(text.utf8), key: secret))
  }

  @Test func `the body of a trigger has the documented MD5`() {
    let body = #"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#
    #expect(Hex.encode(Digest.md5(Array(body.utf8))) == "ec365a775a4cd0599faeb73354201b6f")
  }

  @Test func `a trigger has the documented signature`() {
    let text =
      "POST\n/apps/3/events\nauth_key=278d425bdf160c739803&auth_timestamp=1353088179"
      + "&auth_version=1.0&body_md5=ec365a775a4cd0599faeb73354201b6f"
    #expect(sign(text) == "da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c")
  }

  @Test func `a query for channels signs its own parameters among the others`() {
    let text =
      "GET\n/apps/3/channels\nauth_key=278d425bdf160c739803&auth_timestamp=1353088179"
      + "&auth_version=1.0&filter_by_prefix=presence-&info=user_count"
    #expect(sign(text) == "16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291")
  }
}

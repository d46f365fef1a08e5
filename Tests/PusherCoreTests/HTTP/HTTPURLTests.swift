import PusherCore
import Testing

struct `URLs (RFC 3986, RFC 6455 section 3)` {
  @Test func `all parts of a URL are found`() throws {
    let url = try HTTPURL(parsing: "WSS://user:p%40ss@Ws-EU.pusher.com:8443/app/k?a=b&c=d?e#frag")
    #expect(url.scheme == .wss && url.isSecure && url.userInfo == "user:p%40ss")
    #expect(url.host == "ws-eu.pusher.com" && url.port == 8443)
    #expect(url.path == "/app/k" && url.query == "a=b&c=d?e" && url.target == "/app/k?a=b&c=d?e")
    #expect(url.authority == "ws-eu.pusher.com:8443")
  }

  @Test(arguments: [
    ("http://h", 80, "/", "h"), ("https://h?x", 443, "/?x", "h"), ("ws://h:80/", 80, "/", "h"),
    ("ws://[::1]:6001/a", 6001, "/a", "[::1]:6001"),
    ("wss://[FE80::1%25eth0]", 443, "/", "[fe80::1%25eth0]"),
    ("http://127.0.0.1:8080", 8080, "/", "127.0.0.1:8080"), ("http://h:", 80, "/", "h"),
    ("http://h/?", 80, "/?", "h"),
  ])
  func `defaults and authority follow the scheme`(
    text: String, port: Int, target: String, authority: String
  ) throws {
    let url = try HTTPURL(parsing: text)
    #expect(url.port == port && url.target == target && url.authority == authority)
  }

  @Test(arguments: [
    "", "h", "h:80", "/path", "ftp://h", "http:/h", "http://", "http:///x", "http://:80",
    "http://h:0", "http://h:65536", "http://h:8x", "http://h:-1", "http://a b/", "http://h/\u{7}",
    "http://h/\r\nX: y", "http://h/ü", "http://ü/", "http://[::1", "http://[]", "http://[::1]x",
    "http://[h]/", "http://h_<>/",
  ])
  func `a URL that is not one is refused`(text: String) {
    #expect(throws: HTTPError.self) { try HTTPURL(parsing: text) }
  }

  @Test func `a prefix of paths begins with a slash and ends without one`() {
    for text in ["a/b", "/a/b", "a/b/", "/a/b//"] { #expect(HTTPURL.prefix(text) == "/a/b") }
    for text in ["", "/", "//"] { #expect(HTTPURL.prefix(text) == "") }
    for text in ["a b", "a?b", "a#b", "ü", "a\n"] { #expect(HTTPURL.prefix(text) == nil) }
  }

  @Test func `percent-encoding keeps unreserved characters alone`() {
    #expect(PercentEncoding.encode("aZ9-._~") == "aZ9-._~")
    #expect(PercentEncoding.encode("a b&c=é/+") == "a%20b%26c%3D%C3%A9%2F%2B")
    #expect(PercentEncoding.form([("a b", "1&2"), ("c", "")]) == "a%20b=1%262&c=")
  }

  @Test func `percent-decoding refuses what is cut or not UTF-8`() {
    #expect(PercentEncoding.decode("a%20b%c3%A9+") == "a bé+")
    for text in ["%", "%4", "%4g", "a%", "%FF"] { #expect(PercentEncoding.decode(text) == nil) }
  }

  @Test func `in a form a plus is a blank, and an encoded one is a plus`() {
    let decoded: (String) -> String? = PercentEncoding.decodeForm
    #expect(decoded("a+b%2Bc%20d") == "a b+c d" && decoded("+") == " " && decoded("") == "")
    for text in ["%", "+%4", "+%FF"] { #expect(decoded(text) == nil) }
  }
}

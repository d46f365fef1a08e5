import PusherCore
import Testing

struct `Cookies (RFC 6265)` {
  private static let now = WallTime(millisecondsSince1970: 1_795_225_171_121)

  private func jar(
    _ cookies: String..., from url: String = "https://a.example.com/app/page"
  ) throws -> CookieJar {
    let jar = CookieJar()
    for cookie in cookies { try store(cookie, in: jar, from: url) }
    return jar
  }

  private func store(_ cookie: String, in jar: CookieJar, from url: String) throws {
    jar.store(HTTPHeaders([("Set-Cookie", cookie)]), from: try HTTPURL(parsing: url), at: Self.now)
  }

  private func field(
    _ jar: CookieJar, _ url: String = "https://a.example.com/app/page", at time: WallTime = now
  ) throws -> String? {
    jar.field(for: try HTTPURL(parsing: url), at: time)
  }

  @Test func `a cookie goes back where it came from, and several stand in one field`() throws {
    let jar = try jar("SID=31d4d96e407aad42", "lang=en-US; HttpOnly")
    #expect(try field(jar) == "SID=31d4d96e407aad42; lang=en-US")
  }

  @Test(arguments: [
    ("a=1", "https://b.example.com/app/x", nil), ("a=1", "https://x.a.example.com/app/x", nil),
    ("a=1; Domain=example.com", "https://b.example.com/app/x", "a=1"),
    ("a=1; Domain=.EXAMPLE.com", "https://example.com/app/x", "a=1"),
    ("a=1; Domain=example.com", "https://notexample.com/app/x", nil),
    ("a=1; Domain=other.com", "https://a.example.com/app/x", nil),
    ("a=1; Domain=com", "https://a.example.com/app/x", nil),
    ("a=1; Domain=x.a.example.com", "https://a.example.com/app/x", nil),
    ("a=1; Domain=", "https://a.example.com/app/x", "a=1"),
    // By default the path is that of the page's folder.
    ("a=1", "https://a.example.com/app/x", "a=1"), ("a=1", "https://a.example.com/app", "a=1"),
    ("a=1", "https://a.example.com/application", nil),
    ("a=1", "https://a.example.com/", nil), ("a=1; Path=/", "https://a.example.com/", "a=1"),
    ("a=1; Path=/app/", "https://a.example.com/app/x", "a=1"),
    ("a=1; Path=/app/", "https://a.example.com/app", nil),
    ("a=1; Path=x", "https://a.example.com/app/x", "a=1"),
    ("a=1; Secure", "http://a.example.com/app/x", nil),
  ])
  func `domain and path say which requests carry a cookie, and no server asks for another's`(
    cookie: String, url: String, sent: String?
  ) throws {
    #expect(try field(try jar(cookie), url) == sent)
  }

  @Test func `longer paths come first, then older cookies`() throws {
    let jar = try jar("a=1; Path=/", "b=2; Path=/app", "c=3; Path=/")
    #expect(try field(jar) == "b=2; a=1; c=3")
  }

  @Test(arguments: [
    ("a=1; Max-Age=10", 9, true), ("a=1; Max-Age=10", 10, false),
    ("a=1; Expires=Sat, 21 Nov 2026 01:39:41 GMT", 9, true),
    ("a=1; Expires=Sat, 21 Nov 2026 01:39:41 GMT", 10, false),
    ("a=1; Expires=Sat, 21 Nov 2026 01:39:32 GMT; Max-Age=10", 9, true),
    ("a=1; Expires=nonsense; Max-Age=x", 1_000_000, true),
    ("a=1; Max-Age=99999999999999999999", 1_000_000, true),
  ])
  func `a cookie lasts as long as it says`(cookie: String, seconds: Int, isSent: Bool) throws {
    // The wall clock of this suite is 879 ms before a full second.
    let later = WallTime(
      millisecondsSince1970: Self.now.millisecondsSince1970 + Int64(seconds) * 1000)
    #expect(try (field(try jar(cookie), at: later) != nil) == isSent)
  }

  @Test func `a cookie is replaced by its name, and removed by one that is over`() throws {
    let jar = try jar("a=1", "a=2", "b=1")
    #expect(try field(jar) == "a=2; b=1")
    try store("a=; Max-Age=0", in: jar, from: "https://a.example.com/app/page")
    try store("b=; Max-Age=-5", in: jar, from: "https://a.example.com/app/page")
    #expect(jar.count == 0)
  }

  @Test(arguments: [
    "", "a", "=1", "a=\u{1}", "a\r=1\n", ";a=1", "a=1; Domain=0.0.1", "a=1; Secure",
  ])
  func `what is no cookie, or not for this server, is left alone`(cookie: String) throws {
    #expect(try jar(cookie, from: "http://127.0.0.1/").count == 0)
  }

  @Test func `a large cookie is left alone, and of too many the oldest make room`() throws {
    let size = CookieJar.sizeLimit
    #expect(try jar("a=" + String(repeating: "x", count: size)).count == 0)
    #expect(try jar("a=" + String(repeating: "x", count: size - 1)).count == 1)
    let jar = CookieJar()
    for number in 0...CookieJar.limit {
      try store("c\(number)=1", in: jar, from: "https://a.example.com/")
    }
    #expect(jar.count == CookieJar.limit)
    #expect(try field(jar, "https://a.example.com/")?.hasPrefix("c1=1; ") == true)
  }
}

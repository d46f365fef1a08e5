import PusherCore
import Testing

/// RFC 3986 section 5.4, with the schemes of this program.
struct URLReferenceTests {
  @Test(arguments: [
    ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"),
    ("g?y", "/b/c/g?y"), ("", "/b/c/d;p?q"), ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"),
    (";x", "/b/c/;x"), (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"),
    ("../g", "/b/g"), ("../..", "/"), ("../../g", "/g"), ("../../../g", "/g"), ("/./g", "/g"),
    ("/../g", "/g"), ("g.", "/b/c/g."), (".g", "/b/c/.g"), ("..g", "/b/c/..g"),
    ("./../g", "/b/g"), ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"),
    ("g?y/../x", "/b/c/g?y/../x"),
  ])
  func `a relative reference is read at its base`(reference: String, target: String) throws {
    let base = try HTTPURL(parsing: "ws://user@a:8080/b/c/d;p?q")
    let url = try base.resolving(reference)
    #expect(url.target == target && url.authority == "a:8080" && url.userInfo == "user")
  }

  @Test func `an authority or a scheme takes the place of the base's`() throws {
    let base = try HTTPURL(parsing: "wss://user@a:8080/b")
    #expect(try base.resolving("//g/x") == HTTPURL(scheme: .wss, host: "g", path: "/x"))
    #expect(try base.resolving("http://g") == HTTPURL(scheme: .http, host: "g"))
    #expect(
      try base.resolving("HTTPS://[::1]:9/a/../b?c#d")
        == HTTPURL(scheme: .https, host: "::1", port: 9, path: "/b", query: "c"))
  }

  @Test(arguments: [
    "ftp://a/", "mailto:a@b", "http://h\u{e9}/", "http://h h/", "http://", "//", "/a\r\nX: y",
    "g:h",
  ])
  func `what is no URL here is refused`(reference: String) throws {
    let base = try HTTPURL(parsing: "ws://a/b")
    #expect(throws: HTTPError.self) { try base.resolving(reference) }
  }
}

/// RFC 9110 section 10.2.2: many servers send no valid URI here; browsers and curl encode it.
struct LocationTests {
  @Test(arguments: [
    ("/a b", "/a%20b"), ("/\u{e9}?q=\u{e9} x", "/%C3%A9?q=%C3%A9%20x"), (" /a ", "/a"),
    ("b c", "/b%20c"), ("?x y", "/a?x%20y"), ("http://h/a b#c d", "/a%20b"),
    ("/a%20b%C3%A9", "/a%20b%C3%A9"), ("/a\"<>\\^`{|}", "/a\"<>\\^`{|}"),
  ])
  func `blanks and other bytes are encoded once`(location: String, target: String) throws {
    #expect(try HTTPURL(parsing: "http://h/a").resolving(location).target == target)
  }
}

/// RFC 9110 section 15.4.
struct RedirectTrailTests {
  private func trail(_ text: String = "wss://user:pass@a.test/app/k?p=7") throws -> RedirectTrail {
    RedirectTrail(url: try HTTPURL(parsing: text))
  }

  @Test func `only the redirects with a Location to follow are redirects`() {
    #expect((300...399).filter(RedirectTrail.isRedirect) == [301, 302, 303, 307, 308])
  }

  @Test(arguments: [
    ("//b.test/x?secret", "//b.test/x"), ("wss://me:pass@b.test/x?token=1", "b.test/x"),
  ])
  func `five redirects are followed, the sixth is not, and the error shows no credentials`(
    location: String, shown: String
  ) throws {
    var trail = try trail()
    for number in 1...5 {
      try trail.follow(location: "/\(number)")
      #expect(trail.count == number && trail.url.target == "/\(number)")
    }
    let before = trail
    #expect(throws: RedirectError.tooMany(limit: 5, location: shown)) {
      try trail.follow(location: location)
    }
    #expect(trail == before)
  }

  @Test(arguments: ["ws://a.test/x", "http://a.test/x", "http://a.test:443/x"])
  func `encryption is never given up`(location: String) throws {
    var trail = try trail()
    #expect(throws: RedirectError.self) { try trail.follow(location: location) }
    #expect(trail.count == 0)
  }

  @Test func `http means ws and https means wss, ports as the scheme says`() throws {
    var trail = try trail("ws://a.test/x")
    for (location, place, port) in [
      ("http://b.test/y", "ws://b.test/y", 80), ("https://b.test/y", "wss://b.test/y", 443),
      ("https://b.test:80/y", "wss://b.test:80/y", 80),
    ] {
      try trail.follow(location: location)
      #expect(trail.url.place == place && trail.url.port == port)
    }
  }

  @Test func `credentials stay in their origin`() throws {
    let fields = HTTPHeaders([
      ("Authorization", "Bearer x"), ("Cookie", "c=1"), ("Host", "a.test"), ("X-Other", "1"),
    ])
    var same = try trail()
    try same.follow(location: "/y")
    #expect(same.url.userInfo == "user:pass" && same.headers(fields) == fields)
    for place in ["wss://b.test/", "wss://a.test:444/"] {
      var other = try trail()
      try other.follow(location: place)
      #expect(other.url.userInfo == nil && other.headers(fields) == HTTPHeaders([("X-Other", "1")]))
      // A redirect back to the first host does not send them again.
      try other.follow(location: "wss://a.test/")
      #expect(other.headers(fields) == HTTPHeaders([("X-Other", "1")]))
    }
  }

  @Test func `a Location that is no URL is named by its fault alone`() throws {
    var trail = try trail()
    #expect(throws: RedirectError.invalid(reason: "its scheme is not http, https, ws or wss")) {
      try trail.follow(location: "ftp://me:pass@b.test/")
    }
  }
}

import PusherServer
import Testing

/// RFC 6761 sections 6.2 and 6.3; RFC 4291 sections 2.2 and 2.5; the URL standard, section "Host parsing".
@Suite("Which hosts and origins are local")
struct LocalHostTests {
  struct Vector: Sendable, CustomTestStringConvertible {
    let text: String
    /// `nil` for what is no host at all.
    let isLocal: Bool?

    init(_ text: String, _ isLocal: Bool?) {
      self.text = text
      self.isLocal = isLocal
    }

    var testDescription: String { text }
  }

  static let hosts: [Vector] = [
    // Names.
    Vector("localhost", true), Vector("LOCALHOST", true), Vector("LocalHost.", true),
    Vector("app.localhost", true), Vector("a.b.localhost", true), Vector("shop.test", true),
    Vector("SHOP.Test.", true), Vector("test", false), Vector("evil.example", false),
    Vector("localhost.evil.example", false), Vector("localhost.example", false),
    Vector("evillocalhost", false), Vector("evil-localhost", false), Vector("eviltest", false),
    Vector("test.example", false), Vector("localhost-", false), Vector("localhos", false),
    Vector("xn--localhst-9za", false), Vector("localtest.me", false), Vector("lvh.me", false),
    // Addresses.
    Vector("127.0.0.1", true), Vector("127.255.255.254", true), Vector("127.0.0.1.", true),
    Vector("[::1]", true), Vector("[0:0:0:0:0:0:0:1]", true), Vector("[0::1]", true),
    Vector("[::0001]", true), Vector("[::ffff:127.0.0.1]", true), Vector("[::FFFF:7f00:1]", true),
    Vector("[::ffff:7F01:203]", true), Vector("0.0.0.0", false), Vector("[::]", false),
    Vector("10.0.0.1", false), Vector("192.168.1.5", false), Vector("128.0.0.1", false),
    Vector("[fe80::1]", false), Vector("[::2]", false), Vector("[::ffff:10.0.0.1]", false),
    Vector("[::127.0.0.1]", false), Vector("[1::1]", false), Vector("[64:ff9b::127.0.0.1]", false),
    // Other spellings of 127.0.0.1, which browsers never send.
    Vector("127.1", false), Vector("127.0.1", false), Vector("0x7f.1", false),
    Vector("0x7f000001", false), Vector("2130706433", false), Vector("0177.0.0.1", false),
    Vector("127.0.0.01", false), Vector("127.0.0.256", false),
    Vector("127.0.0.1.evil.example", false),
    Vector("127.0.0.1.0", false), Vector("127.0.0.0x1", false),
    // What is no host.
    Vector("", nil), Vector(".", nil), Vector("..localhost", nil), Vector("a..localhost", nil),
    Vector(".localhost", nil), Vector("localhost..", nil), Vector("a b", nil),
    Vector("localhost\u{0}", nil), Vector("localhost@evil.example", nil),
    Vector("localhost/x", nil),
    Vector("evil.example#.localhost", nil), Vector("evil.example?.test", nil),
    Vector("ｌocalhost", nil), Vector("größe.test", nil), Vector("evil.example\\.test", nil),
    Vector("::1", nil), Vector("[::1", nil), Vector("::1]", nil), Vector("[]", nil),
    Vector("[localhost]", nil), Vector("[::1%lo]", nil), Vector("[::1%25lo]", nil),
    Vector("localhost:80", nil), Vector("[::1]:80", nil), Vector("%6cocalhost", nil),
    Vector(String(repeating: "a", count: 254), nil),
  ]

  @Test(arguments: hosts)
  func `a host is local, is not, or is none`(vector: Vector) {
    #expect(LocalHost(vector.text)?.isLocal == vector.isLocal)
  }

  @Test(arguments: [
    "[:::1]", "[1:::1]", "[::1::]", "[:1]", "[1:]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7]",
    "[::12345]", "[::127.0.0.1:1]", "[1.2.3.4]", "[:]", "[1:2:3:4:5:6:7::8:9]",
  ])
  func `what is no IPv6 address is not local`(text: String) {
    #expect(LocalHost(text)?.isLocal != true)
  }

  @Test(
    arguments: [
      ("localhost", nil), ("localhost:6001", 6001), ("localhost.:1", 1),
      ("127.0.0.1:65535", 65_535),
      ("[::1]:80", 80), ("[::1]", nil), ("localhost:", nil),
    ] as [(String, Int?)])
  func `a host may have a port`(text: String, port: Int?) {
    #expect(LocalHost.split(text)?.host.isLocal == true)
    #expect(LocalHost.split(text)?.port == port)
  }

  @Test(arguments: [
    "localhost:x", "localhost:0", "localhost:65536", "localhost:123456", "localhost:1:2", ":80",
    "[::1]80", "[::1]:80]", "localhost:-1", "localhost:+1", "localhost: 1",
  ])
  func `a port that is none makes it no host`(text: String) {
    #expect(LocalHost.split(text) == nil)
  }

  static let origins: [Vector] = [
    Vector("http://localhost", true), Vector("https://localhost:3000", true),
    Vector("HTTP://LocalHost:3000", true), Vector("http://[::1]:8080", true),
    Vector("http://[::ffff:7f00:1]", true), Vector("https://shop.test", true),
    Vector("http://app.localhost.", true),
    Vector("https://evil.example", false), Vector("http://localhost.evil.example", false),
    Vector("http://192.168.1.5:3000", false), Vector("http://0.0.0.0:3000", false),
    Vector("null", false), Vector("NULL", false), Vector("file://", false),
    // Nobody knows here what is behind other schemes.
    Vector("chrome-extension://abcdefghijklmnop", false), Vector("capacitor://localhost", false),
    Vector("ws://localhost", false), Vector("ftp://localhost", false),
    Vector("", nil), Vector("localhost", nil), Vector("localhost:3000", nil),
    Vector("//localhost", nil), Vector("http:localhost", nil), Vector("http:/localhost", nil),
    Vector("http://", nil), Vector("http://localhost/", nil), Vector("http://localhost/x", nil),
    Vector("http://localhost http://evil.example", nil), Vector("http://a@localhost", nil),
    Vector("http://localhost:3000:1", nil), Vector("http://localhost,http://a", nil),
    Vector("http://evil.example#.localhost", nil), Vector("file:///etc", nil), Vector(" null", nil),
    Vector("1http://localhost", nil), Vector("data:text/html", nil), Vector("about:blank", nil),
  ]

  @Test(arguments: origins)
  func `an origin is local, is not, or is none`(vector: Vector) {
    #expect(
      OriginPolicy.Origin(vector.text).map { OriginPolicy().allows($0.description) }
        == vector.isLocal)
    #expect(OriginPolicy().allows(vector.text) == (vector.isLocal ?? false))
  }

  @Test func `an origin that is named is allowed in every spelling of it, and no other`() throws {
    let names = ["https://Shop.example:443", "http://192.168.1.5:3000", "null", "app://x"]
    let policy = OriginPolicy(allowed: Set(try names.map { try #require(OriginPolicy.Origin($0)) }))
    for origin in [
      "https://shop.example", "https://shop.example.", "HTTPS://SHOP.example:443",
      "http://192.168.1.5:3000", "null", "app://x",
    ] { #expect(policy.allows(origin), "\(origin)") }
    for origin in [
      "http://shop.example", "https://shop.example:444", "https://a.shop.example",
      "http://192.168.1.5", "https://192.168.1.5:3000", "file://", "app://y",
      "https://shop.example/",
    ] { #expect(!policy.allows(origin), "\(origin)") }
  }

  @Test func `a host that is named is allowed with any port, and no other`() throws {
    let names = ["Dev.Example", "192.168.1.5", "[fe80::1]"]
    let policy = HostPolicy(allowed: Set(try names.map { try #require(LocalHost($0)) }))
    for host in ["dev.example", "dev.example.:6001", "192.168.1.5:6001", "[FE80::1]:80", ""] {
      #expect(policy.allows(host), "\(host)")
    }
    for host in ["a.dev.example", "192.168.1.6", "[fe80::2]", "example", "dev.example:x"] {
      #expect(!policy.allows(host), "\(host)")
    }
  }

  @Test func `a server that others reach may be asked for by any name`() {
    let policy = HostPolicy(isPublic: true)
    for host in ["evil.example", "10.0.0.1:6001", "a b"] { #expect(policy.allows(host)) }
  }

  @Test func `no text of any kind stops the reading`() {
    var random = SeededGenerator(seed: 11)
    let alphabet = Array("0127.:[]%af-_lochstxLT/@# \u{0}é".unicodeScalars)
    for _ in 0..<20_000 {
      var text = String.UnicodeScalarView()
      for _ in 0..<Int(random.next() % 24) {
        text.append(alphabet[Int(random.next() % UInt64(alphabet.count))])
      }
      let host = LocalHost(String(text))
      #expect(host.map { LocalHost($0.description) == $0 } ?? true)
      let origin = OriginPolicy.Origin("http://" + String(text))
      #expect(origin.map { OriginPolicy.Origin($0.description) == $0 } ?? true)
    }
  }
}

@Suite("Telling of refusals")
struct RefusalReportTests {
  @Test func `each is told once, and a page that makes up origins fills no log`() {
    var report = RefusalReport()
    #expect(report.note(.origin("https://a.example")) == false)
    #expect(report.note(.origin("https://a.example")) == nil)
    #expect(report.note(.host("https://a.example")) == false)
    let answers = (0..<1000).map { report.note(.host("\($0).example")) }
    #expect(answers.filter { $0 == false }.count == RefusalReport.limit - 3)
    #expect(answers.filter { $0 == true }.count == 1)
    #expect(answers.last == .some(nil))
  }
}

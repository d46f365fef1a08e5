import PusherServer
import TestSupport
import Testing

/// RFC 6761 sections 6.2 and 6.3; RFC 4291 sections 2.2 and 2.5; the URL standard, section "Host
/// parsing".
struct `Which hosts and origins are local` {
  /// Texts that are local, are not (`false`), or are no host (`nil`).
  private static func vectors(_ isLocal: Bool?, _ texts: [String]) -> [(String, Bool?)] {
    texts.map { ($0, isLocal) }
  }

  static let hosts: [(String, Bool?)] =
    // This machine's names and addresses.
    vectors(
      true,
      [
        "localhost", "LOCALHOST", "LocalHost.", "app.localhost", "a.b.localhost", "shop.test",
        "SHOP.Test.", "127.0.0.1", "127.255.255.254", "127.0.0.1.", "[::1]", "[0:0:0:0:0:0:0:1]",
        "[0::1]", "[::0001]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]", "[::ffff:7F01:203]",
      ])
    // Other hosts, and spellings of 127.0.0.1 that browsers never send.
    + vectors(
      false,
      [
        "test", "evil.example", "localhost.evil.example", "localhost.example", "evillocalhost",
        "evil-localhost", "eviltest", "test.example", "localhost-", "localhos", "xn--localhst-9za",
        "localtest.me", "lvh.me", "0.0.0.0", "[::]", "10.0.0.1", "192.168.1.5", "128.0.0.1",
        "[fe80::1]", "[::2]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[1::1]",
        "[64:ff9b::127.0.0.1]",
        "127.1", "127.0.1", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.0.0.01",
        "127.0.0.256", "127.0.0.1.evil.example", "127.0.0.1.0", "127.0.0.0x1",
      ])
    // Invalid hosts.
    + vectors(
      nil,
      [
        "", ".", "..localhost", "a..localhost", ".localhost", "localhost..", "a b",
        "localhost\u{0}",
        "localhost@evil.example", "localhost/x", "evil.example#.localhost", "evil.example?.test",
        "ｌocalhost", "größe.test", "evil.example\\.test", "::1", "[::1", "::1]", "[]",
        "[localhost]",
        "[::1%lo]", "[::1%25lo]", "localhost:80", "[::1]:80", "%6cocalhost",
        String(repeating: "a", count: 254),
      ])

  @Test(arguments: hosts)
  func `a host is local, is not, or is none`(text: String, isLocal: Bool?) {
    #expect(LocalHost(text)?.isLocal == isLocal)
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

  static let origins: [(String, Bool?)] =
    // This machine's origins.
    vectors(
      true,
      [
        "http://localhost", "https://localhost:3000", "HTTP://LocalHost:3000", "http://[::1]:8080",
        "http://[::ffff:7f00:1]", "https://shop.test", "http://app.localhost.",
      ])
    // Other origins. Hosts in schemes other than http and https have no known meaning here.
    + vectors(
      false,
      [
        "https://evil.example", "http://localhost.evil.example", "http://192.168.1.5:3000",
        "http://0.0.0.0:3000", "null", "NULL", "file://", "chrome-extension://abcdefghijklmnop",
        "capacitor://localhost", "ws://localhost", "ftp://localhost",
      ])
    // Invalid origins.
    + vectors(
      nil,
      [
        "", "localhost", "localhost:3000", "//localhost", "http:localhost", "http:/localhost",
        "http://", "http://localhost/", "http://localhost/x",
        "http://localhost http://evil.example",
        "http://a@localhost", "http://localhost:3000:1", "http://localhost,http://a",
        "http://evil.example#.localhost", "file:///etc", " null", "1http://localhost",
        "data:text/html", "about:blank",
      ])

  @Test(arguments: origins)
  func `an origin is local, is not, or is none`(text: String, isLocal: Bool?) {
    let policy = AccessPolicy()
    #expect(AccessPolicy.Origin(text).map { policy.allows(origin: $0.description) } == isLocal)
    #expect(policy.allows(origin: text) == (isLocal ?? false))
  }

  @Test func `an origin that is named is allowed in every spelling of it, and no other`() throws {
    let names = ["https://Shop.example:443", "http://192.168.1.5:3000", "null", "app://x"]
    var policy = AccessPolicy()
    policy.origins = Set(try names.map { try #require(AccessPolicy.Origin($0)) })
    for origin in [
      "https://shop.example", "https://shop.example.", "HTTPS://SHOP.example:443",
      "http://192.168.1.5:3000", "null", "app://x",
    ] { #expect(policy.allows(origin: origin), "\(origin)") }
    for origin in [
      "http://shop.example", "https://shop.example:444", "https://a.shop.example",
      "http://192.168.1.5", "https://192.168.1.5:3000", "file://", "app://y",
      "https://shop.example/",
    ] { #expect(!policy.allows(origin: origin), "\(origin)") }
  }

  @Test func `a host that is named is allowed with any port, and no other`() throws {
    let names = ["Dev.Example", "192.168.1.5", "[fe80::1]"]
    var policy = AccessPolicy()
    policy.hosts = Set(try names.map { try #require(LocalHost($0)) })
    for host in ["dev.example", "dev.example.:6001", "192.168.1.5:6001", "[FE80::1]:80", ""] {
      #expect(policy.allows(host: host), "\(host)")
    }
    for host in ["a.dev.example", "192.168.1.6", "[fe80::2]", "example", "dev.example:x"] {
      #expect(!policy.allows(host: host), "\(host)")
    }
  }

  @Test func `a server that others reach may be asked for by any name`() {
    var policy = AccessPolicy()
    policy.isPublic = true
    for host in ["evil.example", "10.0.0.1:6001", "a b"] { #expect(policy.allows(host: host)) }
  }

  @Test func `no text of any kind stops the reading`() {
    var random = SeededGenerator(seed: 11)
    let alphabet = Array("0127.:[]%af-_lochstxLT/@# \u{0}é".unicodeScalars)
    for _ in 0..<20_000 {
      var text = String.UnicodeScalarView()
      for _ in 0..<random.below(24) {
        text.append(alphabet[random.below(alphabet.count)])
      }
      let host = LocalHost(String(text))
      #expect(host.map { LocalHost($0.description) == $0 } ?? true)
      let origin = AccessPolicy.Origin("http://" + String(text))
      #expect(origin.map { AccessPolicy.Origin($0.description) == $0 } ?? true)
    }
  }

  // MARK: Refusals

  @Test func `each refusal is told once, and a page that makes up origins fills no log`() {
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

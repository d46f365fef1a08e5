import PusherCore
import Testing

struct `A proxy's URL` {
  @Test(arguments: [
    ("http://proxy.test:3128", "http://proxy.test:3128"), ("proxy.test:80", "http://proxy.test:80"),
    ("HTTP://Proxy.Test", "http://proxy.test:1080"), ("proxy", "http://proxy:1080"),
    ("http://[::1]:8080/", "http://[::1]:8080"), ("socks5h://[::1]", "socks5h://[::1]:1080"),
    ("socks5://u:1@10.0.0.1/", "socks5://10.0.0.1:1080"), ("http://a:00080", "http://a:80"),
    ("http://user:80@a", "http://a:1080"), ("http://a:", "http://a:1080"),
  ])
  func `a proxy is described by scheme, host and port`(text: String, description: String) throws {
    #expect(try Proxy(parsing: text).description == description)
  }

  @Test func `user and password are percent-decoded and never shown`() throws {
    let proxy = try Proxy(parsing: "http://us%20er:p%40ss%3A%2Fw:x@host:1")
    #expect(proxy.credentials == ProxyCredentials(user: "us er", password: "p@ss:/w:x"))
    #expect(!"\(proxy) \(String(reflecting: proxy))".contains("p@ss"))
    #expect(try Proxy(parsing: "user@host").credentials?.password == "")
  }

  @Test(arguments: [
    ("https://u:hunter2@h", "TLS to the proxy"), ("socks4://u:hunter2@h", "only version 5"),
    ("ftp://u:hunter2@h", "its scheme is not http"), ("http://u:hunter2@", "host name is missing"),
    ("http://u:hunter2@h:0", "port"), ("http://u:hunter2@h:x", "port"),
    ("http://u:hunter2@h/path", "path"), ("http://u:hunter2@h?q", "path"),
    ("http://u%:hunter2@h", "percent-encoded"), ("http://u%3Ax:hunter2@h", "colon"),
    ("socks5h://:hunter2@h", "255 bytes"), ("http://u:hunter2/@h", "port"),
    ("socks5h://u:\(String(repeating: "hunter2", count: 40))@h", "255 bytes"), ("", "missing"),
  ])
  func `a URL of no proxy is refused without its password`(text: String, reason: String) throws {
    let error = "\(try #require(throws: (any Error).self) { try Proxy(parsing: text) })"
    #expect(error.contains(reason) && !error.contains("hunter2"))
  }
}

struct `NO_PROXY` {
  @Test(arguments: [
    ("example.com", "example.com"), ("example.com", "www.example.com"),
    (".example.com", "example.com"),
    (".example.com", "a.b.Example.COM"), ("*.example.com", "www.example.com"), ("*", "anything"),
    ("*", "::1"), ("a,b", "b"), (" a , b ", "b"), ("a b", "b"), ("example.com.", "example.com"),
    ("example.com", "example.com."), ("127.0.0.1", "127.0.0.1"), ("10.0.0.0/8", "10.255.0.1"),
    ("192.168.4.0/22", "192.168.7.255"), ("0.0.0.0/0", "8.8.8.8"), ("::1", "::1"),
    ("[::1]", "0:0::1"), ("2001:db8::/33", "2001:db8:7fff::1"), ("[2001:db8::]/32", "2001:db8::1"),
    ("example.com:443", "example.com"), ("[::1]:443", "::1"), ("10.0.0.0/8:443", "10.1.1.1"),
    ("*:443", "example.com"), ("localhost", "localhost"),
  ])
  func `NO_PROXY names hosts, domains, networks and ports`(text: String, host: String) {
    #expect(ProxyExceptions(text).contains(host: host, port: 443))
  }

  @Test(arguments: [
    ("", "example.com"), (",, ,", "example.com"), ("example.com", "badexample.com"),
    ("example.com", "com"), ("example.com:80", "example.com"), ("[::1]:80", "::1"),
    ("127.0.0.1", "127.0.0.10"), ("10.0.0.0/8", "11.0.0.1"), ("192.168.4.0/22", "192.168.8.0"),
    ("2001:db8::/33", "2001:db8:8000::1"), ("10.0.0.0/33", "10.0.0.0"), ("10.0.0.0/-1", "10.0.0.0"),
    ("10.0.0.0/", "10.0.0.0"), ("0.0.0.0/0", "::1"), ("localhost", "127.0.0.1"), (".", "a"),
    ("1", "127.0.0.1"), ("example.com:0", "example.com"), ("example.com:x", "example.com"),
    ("[::1", "::1"), ("example.com/8", "example.com"), ("1.1.1", "127.1.1.1.1"),
  ])
  func `NO_PROXY names no other host and no other port`(text: String, host: String) {
    #expect(!ProxyExceptions(text).contains(host: host, port: 443))
  }

  @Test func `the proxy is chosen by the scheme, exceptions go first`() throws {
    let secure = try Proxy(parsing: "http://secure:1")
    let plain = try Proxy(parsing: "socks5h://plain:2")
    let routing = Routing(
      secureProxy: secure, plainProxy: plain, exceptions: ProxyExceptions("direct.test"),
      families: [.ipv4])
    for (url, proxy) in [
      ("wss://a.test", secure), ("https://a.test", secure), ("ws://a.test", plain),
      ("http://a.test", plain), ("wss://direct.test", nil), ("http://b.direct.test", nil),
    ] {
      let route = routing.route(to: try HTTPURL(parsing: url))
      #expect(route.proxy == proxy && route.families == [.ipv4])
    }
    let route = Routing().route(to: try HTTPURL(parsing: "wss://a.test:8443/app"))
    #expect(route == Route(host: "a.test", port: 8443))
  }
}

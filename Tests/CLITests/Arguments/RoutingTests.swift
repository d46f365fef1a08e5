import PusherCore
import Testing

@testable import pusher_cli

struct `Proxies and addresses` {
  private func routing(_ line: String = "", _ environment: [String: String] = [:]) throws -> Routing
  {
    try subscribe("--key k a \(line)", environment).connection.routing
  }

  private func proxy(_ text: String) throws -> Proxy { try Proxy(parsing: text) }

  @Test func `no proxy is used unless something names one`() throws {
    #expect(try routing() == Routing())
    #expect(try routing("", ["HTTPS_PROXY": "", "NO_PROXY": ""]) == Routing())
  }

  @Test func `--proxy is for every server and beats the environment; empty means none`() throws {
    let environment = ["HTTPS_PROXY": "http://other:1", "ALL_PROXY": "http://other:2"]
    let typed = try routing("--proxy socks5h://p:9", environment)
    #expect(typed.secureProxy == (try proxy("socks5h://p:9")))
    #expect(typed.plainProxy == typed.secureProxy)
    let none = try subscribe("--key k a --proxy=", environment).connection.routing
    #expect(none == Routing())
  }

  @Test func `the scheme's variable, then ALL_PROXY; lower case first`() throws {
    let both = try routing(
      "", ["HTTPS_PROXY": "s", "HTTP_PROXY": "p", "ALL_PROXY": "a", "https_proxy": "lower"])
    #expect(both.secureProxy?.host == "lower")
    #expect(both.plainProxy?.host == "p")
    let general = try routing("", ["ALL_PROXY": "a", "http_proxy": "p"])
    #expect(general.secureProxy?.host == "a")
    #expect(general.plainProxy?.host == "p")
    #expect(try routing("", ["all_proxy": "a"]).plainProxy?.host == "a")
  }

  @Test func `under CGI only http_proxy in lower case counts`() throws {
    let environment = ["REQUEST_METHOD": "GET", "HTTP_PROXY": "evil"]
    #expect(try routing("", environment).plainProxy == nil)
    let lower = environment.merging(["http_proxy": "good"]) { $1 }
    #expect(try routing("", lower).plainProxy?.host == "good")
  }

  @Test(arguments: ["NO_PROXY", "no_proxy"])
  func `NO_PROXY counts for --proxy too`(name: String) throws {
    let routing = try routing("--proxy p", [name: "near.test,10.0.0.0/8"])
    for (url, proxy) in [
      ("wss://a.near.test", nil), ("wss://10.1.1.1", nil), ("wss://far.test", "p"),
    ] {
      #expect(routing.route(to: try HTTPURL(parsing: url)).proxy?.host == proxy)
    }
  }

  @Test func `a password is taken from the environment only, and never repeated`() throws {
    let credentials = try routing("", ["ALL_PROXY": "http://u:hunt%21er2@p"]).plainProxy?
      .credentials
    #expect(credentials == ProxyCredentials(user: "u", password: "hunt!er2"))
    let message = try #require(refusal { _ = try routing("--proxy http://u:hunter2@p") })
    #expect(
      message == "--proxy: a password in the URL would show in ps; put the URL into ALL_PROXY")
    #expect(try routing("--proxy u@p").plainProxy?.credentials?.user == "u")
    for (line, environment, origin) in [
      ("--proxy ftp://u:hunter2@p", [:], "--proxy"),
      ("", ["https_proxy": "https://u:hunter2@p"], "https_proxy"),
      ("", ["ALL_PROXY": "http://u:hunter2@p:0"], "ALL_PROXY"),
    ] {
      let message = try #require(refusal { _ = try routing(line, environment) })
      #expect(message.hasPrefix("\(origin) is not a proxy URL: "))
      #expect(!message.contains("hunter2"))
    }
  }

  @Test func `--local leaves the environment out, and takes what is typed`() throws {
    let environment = ["HTTP_PROXY": "p", "ALL_PROXY": "a", "NO_PROXY": "*"]
    func local(_ line: String) throws -> Routing {
      try subscribe("--local a \(line)", environment).connection.routing
    }
    #expect(try local("") == Routing())
    #expect(try local("--proxy t").plainProxy?.host == "t")
    #expect(try local("--proxy t").route(to: HTTPURL(parsing: "ws://127.0.0.1:6001/")).proxy != nil)
  }

  @Test(arguments: [
    ("http://a.test", "http://p", true), ("https://a.test", "http://p", false),
    ("ws://a.test", "http://p", false), ("http://a.test", "socks5h://p", false),
    ("http://near.test", "http://p", false),
  ])
  func `http goes to an HTTP proxy itself, everything else through it`(
    url: String, proxy: String, isForwarded: Bool
  ) throws {
    let routing = try routing("--proxy \(proxy)", ["NO_PROXY": "near.test"])
    #expect(routing.route(to: try HTTPURL(parsing: url)).isForwarded == isForwarded)
  }

  @Test(arguments: [
    ("-4", [SocketAddress.Family.ipv4]), ("--ipv6", [.ipv6]), ("-4 -6", [.ipv6]),
    ("-64", [.ipv4]), ("-4 --no-ipv4", SocketAddress.Family.both),
  ])
  func `-4 and -6: the last one counts`(options: String, families: [SocketAddress.Family]) throws {
    #expect(try routing(options).families == families)
  }
}

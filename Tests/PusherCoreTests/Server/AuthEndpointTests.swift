import PusherCore
import PusherServer
import TestSupport
import Testing

/// Pusher's pages "Authorizing users" and "Authenticating users"; the Fetch standard, section "CORS
/// protocol".
@Suite("The endpoints that authorise a page's channels")
struct AuthEndpointTests {
  private static let key = "278d425bdf160c739803"
  private static let form = "application/x-www-form-urlencoded; charset=UTF-8"

  private static func endpoint(_ others: [Application] = []) -> AuthEndpoint {
    var application = Application.forTests()
    application.masterKey = try? EncryptionMasterKey(
      base64: Base64.encode([UInt8](repeating: 1, count: 32)))
    let applications = Applications([application] + others, random: SeededGenerator(seed: 1))
    for socketID in ["1234.1234", "1.2"] { _ = HubClient(applications.hubs[0], socketID) }
    return AuthEndpoint(applications)
  }

  private static func ask(
    _ path: String, _ body: String, type: String = form, method: String = "POST",
    headers: [(String, String)] = [], others: [Application] = []
  ) -> HTTPAnswer? {
    let fields = HTTPHeaders([("Content-Type", type)] + headers)
    return endpoint(others).answer(
      HTTPRequestReader.Request(
        head: HTTPRequestHead(method: method, target: path, headers: fields),
        body: Array(body.utf8)))
  }

  @Test(arguments: ["/pusher/auth", "/broadcasting/auth"])
  func `a private channel is signed as documented`(path: String) {
    let answer = Self.ask(path, "socket_id=1234.1234&channel_name=private-foobar")
    #expect(answer?.status == 200)
    #expect(
      answer?.body
        == #"{"auth":"\#(Self.key):58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"}"#
    )
  }

  @Test func `JSON means the same as a form`() {
    let json = Self.ask(
      "/pusher/auth", #"{"socket_id":"1234.1234","channel_name":"private-foobar"}"#,
      type: "application/json")
    #expect(json == Self.ask("/pusher/auth", "socket_id=1234.1234&channel_name=private-foobar"))
  }

  @Test func `a member is who the request says, as documented`() throws {
    let answer = Self.ask(
      "/pusher/auth",
      #"{"socket_id":"1234.1234","channel_name":"presence-foobar","user_id":10}"#,
      type: "application/json")
    let data = try JSONParser.parse(try #require(answer?.body))
    #expect(data["channel_data"]?.text == #"{"user_id":10}"#)
    let form = Self.ask(
      "/pusher/auth",
      "socket_id=1.2&channel_name=presence-a&user_id=7&user_info=%7B%22name%22%3A%22Ada%22%7D")
    let member = try JSONParser.parse(try #require(form?.body))["channel_data"]?.text
    #expect(member == #"{"user_id":"7","user_info":{"name":"Ada"}}"#)
    let nobody = Self.ask("/pusher/auth", "socket_id=1.2&channel_name=presence-a")
    let unnamed = try JSONParser.parse(try #require(nobody?.body))["channel_data"]?.text
    #expect(unnamed == #"{"user_id":"1.2"}"#)
  }

  @Test(arguments: ["/pusher/user-auth", "/broadcasting/user-auth"])
  func `a user is signed in as documented, at Pusher's path and at Laravel's`(path: String) throws {
    let answer = Self.ask(path, "socket_id=1234.1234&user_id=12345")
    let data = try JSONParser.parse(try #require(answer?.body))
    #expect(data["user_data"]?.text == #"{"id":"12345"}"#)
    #expect(
      data["auth"]?.text
        == "\(Self.key):4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba")
  }

  @Test func `an encrypted channel gets its key`() throws {
    let answer = Self.ask("/pusher/auth", "socket_id=1.2&channel_name=private-encrypted-a")
    let secret = try JSONParser.parse(try #require(answer?.body))["shared_secret"]?.text
    #expect(secret.flatMap(Base64.decode)?.count == 32)
  }

  @Test(arguments: [
    ("socket_id=1.2&channel_name=news", 403), ("channel_name=private-a", 400),
    ("socket_id=x&channel_name=private-a", 400), ("socket_id=1.2", 400),
    ("socket_id=1.2&channel_name=private-%22", 400), ("socket_id=%zz", 400),
    ("socket_id=1.2&channel_name=private-a&app_key=other", 403),
  ])
  func `what cannot be signed is refused`(body: String, status: Int) {
    #expect(Self.ask("/pusher/auth", body)?.status == status)
  }

  @Test(arguments: ["/pusher/auth", "/broadcasting/user-auth"])
  func `a socket is signed for while it is connected here, for its own app alone`(path: String)
    throws
  {
    let other = Application(id: "4", key: "other", secret: "s")
    let applications = Applications([.forTests(), other], random: SeededGenerator(seed: 1))
    let endpoint = AuthEndpoint(applications)
    func ask(_ more: String = "") -> HTTPAnswer? {
      let body = "socket_id=1.2&channel_name=private-a" + more
      return endpoint.answer(
        HTTPRequestReader.Request(
          head: HTTPRequestHead(method: "POST", target: path, headers: HTTPHeaders()),
          body: Array(body.utf8)))
    }
    let stranger = HTTPAnswer.refusal(
      403, "socket 1.2 is not connected here, so it gets no signature")
    #expect(ask() == stranger)
    #expect(ask("&app_key=other") == stranger)
    let client = HubClient(try #require(applications.hub(key: "other")), "1.2")
    #expect(ask()?.body.hasPrefix(#"{"auth":"other:"#) == true)
    #expect(ask("&app_key=other") == ask())
    #expect(ask("&app_key=\(Self.key)")?.status == 403)
    client.lose()
    #expect(ask() == stranger)
  }

  @Test func `a page of another origin may ask, and read the answer`() throws {
    let asked = try #require(
      Self.ask(
        "/pusher/auth", "", method: "OPTIONS",
        headers: [
          ("Origin", "http://localhost:5173"),
          ("Access-Control-Request-Headers", "content-type,x-csrf-token"),
        ]))
    #expect(asked.status == 204)
    #expect(asked.headers["Access-Control-Allow-Origin"] == "http://localhost:5173")
    #expect(asked.headers["Access-Control-Allow-Credentials"] == "true")
    #expect(asked.headers["Access-Control-Allow-Methods"] == "POST, OPTIONS")
    #expect(asked.headers["Access-Control-Allow-Headers"] == "content-type,x-csrf-token")
    let output = ByteBuffer()
    asked.write(to: output, keepsAlive: true)
    #expect(output.view.text.hasPrefix("HTTP/1.1 204 No Content\r\n"))
    #expect(!output.view.text.contains("Content-Length"))
    let refused = Self.ask("/pusher/auth", "", headers: [("Origin", "http://a")])
    #expect(refused?.headers["Access-Control-Allow-Origin"] == "http://a")
    #expect(refused?.status == 400)
  }

  @Test func `other paths and methods are not its business`() {
    #expect(Self.ask("/apps/3/events", "") == nil)
    #expect(Self.ask("/pusher/auth", "", method: "GET")?.status == 405)
  }

  @Test func `a server answers there only when told to`() throws {
    for isOn in [true, false] {
      let test = try ServerHarness { $0.authEndpoints = isOn ? .thisMachine : .nobody }
      let socket = try test.socket()
      #expect(test.run { socket.isEstablished })
      let body = "socket_id=\(socket.socketID)&channel_name=private-a"
      let client = test.raw(
        "POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
          + body)
      #expect(test.run { client.text.contains("\r\n\r\n") })
      #expect(client.text.hasPrefix("HTTP/1.1 \(isOn ? 200 : 404)"))
    }
  }
}

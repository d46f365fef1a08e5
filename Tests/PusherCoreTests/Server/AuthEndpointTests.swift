import PusherCore
import PusherServer
import Testing

/// Pusher's pages "Authorizing users" and "Authenticating users"; the Fetch standard, section "CORS
/// protocol".
struct `The endpoints that authorise a page's channels` {
  private static let key = "278d425bdf160c739803"
  private static let form = "application/x-www-form-urlencoded; charset=UTF-8"

  /// An endpoint of an app with two sockets.
  private static func endpoint() -> AuthEndpoint {
    var application = Application.forTests()
    application.masterKey = try? EncryptionMasterKey(
      base64: Base64.encode([UInt8](repeating: 1, count: 32)))
    let applications = Applications([application])
    for socketID in ["1234.1234", "1.2"] { _ = HubClient(applications.hubs[0], socketID) }
    return AuthEndpoint(applications)
  }

  private static func ask(
    _ path: String, _ body: String, method: String = "POST", headers: [(String, String)] = [],
    of asked: AuthEndpoint = endpoint()
  ) -> HTTPAnswer? {
    let type = body.hasPrefix("{") ? "application/json" : form
    let fields = HTTPHeaders([("Content-Type", type)] + headers)
    return asked.answer(
      HTTPRequestReader.Request(
        head: HTTPRequestHead(method: method, target: path, headers: fields),
        body: Array(body.utf8)))
  }

  @Test(arguments: [
    ("/pusher/auth", "socket_id=1234.1234&channel_name=private-foobar"),
    ("/broadcasting/auth", "socket_id=1234.1234&channel_name=private-foobar"),
    ("/pusher/auth", #"{"socket_id":"1234.1234","channel_name":"private-foobar"}"#),
  ])
  func `a private channel is signed by form and by JSON`(path: String, body: String) {
    let signature = "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
    let answer = Self.ask(path, body)
    #expect(answer?.status == 200)
    #expect(answer?.body == #"{"auth":"\#(Self.key):\#(signature)"}"#)
  }

  @Test(arguments: [
    (
      #"{"socket_id":"1234.1234","channel_name":"presence-foobar","user_id":10}"#,
      #"{"user_id":10}"#
    ),
    (
      "socket_id=1.2&channel_name=presence-a&user_id=7&user_info=%7B%22name%22%3A%22Ada%22%7D",
      #"{"user_id":"7","user_info":{"name":"Ada"}}"#
    ),
    ("socket_id=1.2&channel_name=presence-a", #"{"user_id":"1.2"}"#),
  ])
  func `a member is who the request says, as documented`(body: String, data: String) throws {
    let answer = try #require(Self.ask("/pusher/auth", body)?.body)
    #expect(try JSONParser.parse(answer)["channel_data"]?.text == data)
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
  func `a request that cannot be signed is refused`(body: String, status: Int) {
    #expect(Self.ask("/pusher/auth", body)?.status == status)
  }

  @Test(arguments: ["/pusher/auth", "/broadcasting/user-auth"])
  func `a connected socket gets signatures, for its own app alone`(path: String) throws {
    let applications = Applications([.forTests(), Application(id: "4", key: "other", secret: "s")])
    let endpoint = AuthEndpoint(applications)
    func ask(_ more: String = "") -> HTTPAnswer? {
      Self.ask(path, "socket_id=1.2&channel_name=private-a" + more, of: endpoint)
    }
    let stranger = HTTPAnswer.refusal(
      403, "socket 1.2 is not connected here, so it gets no signature")
    #expect(ask() == stranger)
    #expect(ask("&app_key=other") == stranger)
    let client = try #require(applications.hub(key: "other")).client("1.2")
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
    for (field, value) in [
      ("Origin", "http://localhost:5173"), ("Credentials", "true"), ("Methods", "POST, OPTIONS"),
      ("Headers", "content-type,x-csrf-token"),
    ] { #expect(asked.headers["Access-Control-Allow-\(field)"] == value) }
    let output = ByteBuffer()
    asked.write(to: output, keepsAlive: true)
    #expect(output.view.text.hasPrefix("HTTP/1.1 204 No Content\r\n"))
    #expect(!output.view.text.contains("Content-Length"))
    let refused = Self.ask("/pusher/auth", "", headers: [("Origin", "http://a")])
    #expect(refused?.headers["Access-Control-Allow-Origin"] == "http://a")
    #expect(refused?.status == 400)
  }

  @Test func `the endpoints take no other paths and methods`() {
    #expect(Self.ask("/apps/3/events", "") == nil)
    #expect(Self.ask("/pusher/auth", "", method: "GET")?.status == 405)
  }

  @Test(arguments: [(Reach.thisMachine, 200), (.nobody, 404)])
  func `a server has the endpoints only when told to`(reach: Reach, status: Int) throws {
    let test = try ServerHarness { $0.authEndpoints = reach }
    let body = "socket_id=\(try test.established().socketID)&channel_name=private-a"
    let client = test.raw(ServerHarness.request("POST /pusher/auth", body: body))
    #expect(test.run { client.text.contains("\r\n\r\n") })
    #expect(client.text.hasPrefix("HTTP/1.1 \(status)"))
  }
}

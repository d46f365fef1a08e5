import PusherCore
import Testing

@testable import pusher_cli

@Suite("Settings of sse")
struct StreamSettingsTests {
  private static let url = "https://example.com/stream?a=1"

  @Test func `a URL is enough`() throws {
    let settings = try sse(Self.url)
    #expect(settings.url == (try HTTPURL(parsing: Self.url)))
    #expect(settings.request.method == "GET")
    #expect(settings.request.body.isEmpty)
    #expect(settings.reconnect == .auto)
    #expect(settings.headers.map(\.name) == ["User-Agent"])
    #expect(settings.lastEventID == nil)
    #expect(!settings.request.acceptsCompression)
  }

  @Test func `data makes a POST, which is not repeated`() throws {
    let json = try sse("\(Self.url) -d {}")
    #expect(json.request.method == "POST")
    #expect(json.reconnect == .never)
    #expect(json.request.body == Array("{}".utf8))
    #expect(json.headers.first?.value == "application/json")
    let form = try sse("\(Self.url) -d a=b --reconnect auto -X PUT")
    #expect(form.request.method == "PUT")
    #expect(form.reconnect == .auto)
    #expect(form.headers.first?.value == "application/x-www-form-urlencoded")
  }

  @Test func `headers come from the command line and from files, and take the place of ours`()
    throws
  {
    let files = PretendFiles(contents: ["token": "Authorization: Bearer x\nX-Key: 1\n"])
    let settings = try sse("\(Self.url) -H @token -H User-Agent:me -d {}", files: files)
    let fields = (settings.fields.all + settings.headers).map { "\($0.name)=\($0.value)" }
    #expect(
      fields == [
        "Authorization=Bearer x", "X-Key=1", "User-Agent=me", "User-Agent=me",
        "Content-Type=application/json",
      ])
    // The program reads files again for each connection.
    #expect(settings.fields.files.map(\.path) == ["token"])
    #expect(refusal { _ = try sse("\(Self.url) -H secret") }?.contains("secret") == false)
  }

  @Test func `a password in the URL is taken from a file, not from the command line`() throws {
    let message = refusal { _ = try sse("https://me:secret@example.com/") }
    #expect(message?.contains("would show in ps") == true)
    #expect(message?.contains("secret") == false)
    #expect(try sse("https://me@example.com/").url.userInfo == "me")
    let files = PretendFiles(contents: ["place": "https://me:secret@example.com/x\n"])
    #expect(try sse("@place", files: files).url.userInfo == "me:secret")
  }

  @Test func `the last event comes from the option, else it is left to the state file`() throws {
    #expect(try sse("\(Self.url) --state-file state").lastEventID == nil)
    #expect(try sse("\(Self.url) --state-file state --last-event-id 7").lastEventID == "7")
  }

  @Test func `an ID among the headers is where it begins, and is no header`() throws {
    let files = PretendFiles(contents: ["state": "41\n"])
    let settings = try sse("\(Self.url) --state-file state -H Last-Event-Id:77", files: files)
    #expect(settings.lastEventID == "77")
    #expect(settings.headers.map(\.name) == ["User-Agent"])
    #expect(
      refusal { _ = try sse("\(Self.url) --last-event-id 7 -H Last-Event-ID:77") }?.contains(
        "--last-event-id and --header both name the last event") == true)
  }

  @Test func `data is not sent again unless that is asked for, with GET either`() throws {
    #expect(try sse("\(Self.url) -d {} -X GET").reconnect == .never)
    #expect(try sse("\(Self.url) -X GET").reconnect == .auto)
    #expect(try sse("\(Self.url) -d {} -X GET --reconnect always").reconnect == .always)
  }

  @Test func `the options for other answers say what is read, and the request asks for it`() throws
  {
    #expect(try sse(Self.url).request.accepts == .namedTypes)
    #expect(try sse("\(Self.url) --lines").request.accepts == .lines)
    #expect(try sse("\(Self.url) --accept-json").request.accepts == .namedTypesAndDocuments)
    #expect(
      refusal { _ = try sse("\(Self.url) --lines --state-file x") }
        == "--state-file keeps the ids of events, and --lines reads none; give one")
  }

  @Test func `silence has a limit, unless the request has data`() throws {
    #expect(try sse(Self.url).activityTimeout == .seconds(300))
    #expect(try sse("\(Self.url) -X POST").activityTimeout == .seconds(300))
    #expect(try sse("\(Self.url) -d {}").activityTimeout == nil)
    #expect(try sse("\(Self.url) -d {} --activity-timeout 1m").activityTimeout == .seconds(60))
    #expect(try sse("\(Self.url) --activity-timeout 24h").activityTimeout == .seconds(86_400))
    let files = PretendFiles(contents: ["config": "[sse]\nactivity-timeout = 7s\n"])
    let settings = try sse("\(Self.url) -d {} --config config", files: files)
    #expect(settings.activityTimeout == .seconds(7))
  }

  @Test func `--retry-post is for a request that is not repeated otherwise`() throws {
    for request in ["-d {}", "-X POST", "-d {} -X GET", "-X QUERY --reconnect never"] {
      let settings = try sse("\(Self.url) \(request) --retry-post")
      #expect(settings.retriesWhenAsked && settings.reconnect == .never, "\(request)")
      #expect(settings.feed.policy(floor: .zero).retriesWhenAsked)
    }
    #expect(try !sse("\(Self.url) -d {}").retriesWhenAsked)
    #expect(try sse("\(Self.url) -d {} --retry-post --reconnect auto").reconnect == .auto)
    // A file's options apply where they can.
    let files = PretendFiles(contents: ["config": "[sse]\nretry-post = true\n"])
    #expect(try !sse("\(Self.url) --config config", files: files).retriesWhenAsked)
    #expect(try sse("\(Self.url) -d {} --config config", files: files).retriesWhenAsked)
    #expect(
      try !sse("\(Self.url) -d {} --no-retry-post --config config", files: files).retriesWhenAsked)
  }

  @Test(arguments: [
    ("", "no URL: give one"), ("https://a/ https://b/", "sse takes one URL"),
    ("https://a/ https://u@b/token?k=token", "sse takes one URL (found 'https://b' too)"),
    (
      "ws://a/",
      "the URL does not begin with http:// or https://; 'pusher-cli subscribe --url' takes ws and wss"
    ), ("127.0.0.1:80/a", "the URL does not begin with http:// or https://"),
    ("example.com", "the URL does not begin with http:// or https://"),
    ("https://a/ -X post", "is not a method"), ("https://a/ --cacert none", "--cacert"),
    (
      "https://a/ -c x",
      "sse has no option -c (--channel belongs to subscribe, trigger, webhook and bench)"
    ),
    ("@none", "cannot read '@none'"),
    ("https://a/ --state-file -", "--state-file cannot use '-'; name a file"),
    (
      "https://a/ --retry-post",
      "--retry-post is for a request with --data, or with another --method than GET; "
        + "use --reconnect always"
    ),
  ])
  func `what cannot be is refused`(line: String, message: String) {
    let said = refusal { _ = try sse(line) }
    #expect(said?.contains(message) == true, "\(said ?? "")")
  }
}

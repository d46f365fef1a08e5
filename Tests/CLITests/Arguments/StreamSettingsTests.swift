import PusherCore
import Testing

@testable import pusher_cli

struct `Settings of sse` {
  private static let url = "https://example.com/stream?a=1"

  @Test func `a URL is enough`() throws {
    let settings = try sse(Self.url)
    #expect(settings.url == (try HTTPURL(parsing: Self.url)))
    #expect(settings.request.method == "GET" && settings.request.body.isEmpty)
    #expect(settings.reconnect == .automatic && !settings.request.acceptsCompression)
    #expect(settings.headers.map(\.name) == ["User-Agent"] && settings.lastEventID == nil)
  }

  @Test func `data makes a POST, which is not repeated`() throws {
    let json = try sse("\(Self.url) -d {}")
    #expect(json.request.method == "POST" && json.request.body == Array("{}".utf8))
    #expect(json.reconnect == .never && json.headers.first?.value == "application/json")
    let form = try sse("\(Self.url) -d a=b --reconnect auto -X PUT")
    #expect(form.request.method == "PUT" && form.reconnect == .automatic)
    #expect(form.headers.first?.value == "application/x-www-form-urlencoded")
  }

  @Test func `headers come from the command line and files, and replace ours`() throws {
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
  }

  @Test func `a password in the URL is taken from a file, not from the command line`() throws {
    let message = refusal { _ = try sse("https://me:secret@example.com/") }
    #expect(message?.contains("would show in ps") == true)
    #expect(message?.contains("secret") == false)
    #expect(try sse("https://me@example.com/").url.userInfo == "me")
    let files = PretendFiles(contents: ["place": "https://me:secret@example.com/x\n"])
    #expect(try sse("@place", files: files).url.userInfo == "me:secret")
  }

  @Test(arguments: [
    ("--state-file state", nil), ("--state-file state --last-event-id 7", "7"),
    ("--state-file state -H Last-Event-Id:77", "77"),
  ])
  func `the last event comes from the options, else it is left to the state file`(
    options: String, id: String?
  ) throws {
    let files = PretendFiles(contents: ["state": "41\n"])
    let settings = try sse("\(Self.url) \(options)", files: files)
    #expect(settings.lastEventID == id)
    // A Last-Event-ID among the headers is no header then.
    #expect(settings.headers.map(\.name) == ["User-Agent"])
  }

  @Test(arguments: [
    ("-d {} -X GET", ReconnectPolicy.Mode.never), ("-X GET", .automatic),
    ("-d {} -X GET --reconnect always", .always),
  ])
  func `data is not sent again unless that is asked for, with GET either`(
    options: String, mode: ReconnectPolicy.Mode
  ) throws {
    #expect(try sse("\(Self.url) \(options)").reconnect == mode)
  }

  @Test func `the options for other answers say what is read and asked for`() throws {
    #expect(try sse(Self.url).request.accepts == .namedTypes)
    #expect(try sse("\(Self.url) --lines").request.accepts == .lines)
    #expect(try sse("\(Self.url) --accept-json").request.accepts == .namedTypesAndDocuments)
  }

  @Test(arguments: [
    ("", Duration.seconds(300)), ("-X POST", .seconds(300)), ("-d {}", nil),
    ("-d {} --activity-timeout 1m", .seconds(60)), ("--activity-timeout 24h", .seconds(86_400)),
    ("-d {} --config config", .seconds(7)),
  ])
  func `silence has a limit, unless the request has data`(options: String, limit: Duration?) throws
  {
    let files = PretendFiles(contents: ["config": "[sse]\nactivity-timeout = 7s\n"])
    #expect(try sse("\(Self.url) \(options)", files: files).activityTimeout == limit)
  }

  @Test func `--retry-post is for a request that is not repeated otherwise`() throws {
    for request in ["-d {}", "-X POST", "-d {} -X GET", "-X QUERY --reconnect never"] {
      let settings = try sse("\(Self.url) \(request) --retry-post")
      #expect(settings.retriesWhenAsked && settings.reconnect == .never, "\(request)")
      #expect(settings.feed.policy(floor: .zero).retriesWhenAsked)
    }
    #expect(try !sse("\(Self.url) -d {}").retriesWhenAsked)
    #expect(try sse("\(Self.url) -d {} --retry-post --reconnect auto").reconnect == .automatic)
    // A file's options apply where they can.
    let files = PretendFiles(contents: ["config": "[sse]\nretry-post = true\n"])
    #expect(try !sse("\(Self.url) --config config", files: files).retriesWhenAsked)
    #expect(try sse("\(Self.url) -d {} --config config", files: files).retriesWhenAsked)
    #expect(
      try !sse("\(Self.url) -d {} --no-retry-post --config config", files: files).retriesWhenAsked)
  }

  @Test(
    arguments: """
      sse => no URL: give one…
      sse https://a/ https://b/ => sse takes one URL…
      sse https://a/ https://u@b/token?k=token => sse takes one URL (found 'https://b' too)…
      sse ws://a/
        => the URL does not begin with http:// or https://; 'pusher-cli subscribe --url' takes ws and
        wss
      sse 127.0.0.1:80/a => the URL does not begin with http:// or https://…
      sse example.com => the URL does not begin with http:// or https://…
      sse https://a/ -X post => …is not a method…
      sse https://a/ --cacert none => --cacert…
      sse https://a/ -c x
        => sse has no option -c (--channel belongs to subscribe, trigger, webhook and bench)
      sse @nofile => the URL: cannot read '@nofile': no such file or directory
      sse https://a/ --state-file - => --state-file cannot use '-'; name a file
      sse https://a/ --retry-post
        => …--retry-post is for a request with --data, or with another --method than GET; use
        --reconnect always…
      sse http://h/ -H secret => --header needs the form 'NAME: VALUE', or @FILE with such lines
      sse https://a/ --last-event-id 7 -H Last-Event-ID:77
        => …--last-event-id and --header both name the last event…
      sse https://a/ --lines --state-file x
        => --state-file keeps the ids of events, and --lines reads none; give one
      """ as Table)
  func `options of sse that cannot be are refused`(row: Table.Row) { row.expectRefusal() }
}

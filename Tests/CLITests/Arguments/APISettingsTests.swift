import Testing

@testable import pusher_cli

struct `Settings of the commands that ask and sign` {
  @Test(
    arguments: """
      channels --local a b => channels takes one argument (found 'b' too)
      channels --local a --prefix x => --prefix filters the list of channels; leave it out to show 'a'
      channels --local --info user_count => --info user_count needs --prefix presence-
      channels --local --info cache => --info cache needs the name of one channel
      channels --local a --info user_count
        => --info user_count works only for channels that begin with presence-
      channels --local --info user_counts
        => --info: 'user_counts' is not one of user_count, subscription_count, cache; did you mean
        'user_count'?
      users --local => no channel: give one
      users --local news => 'news' has no users: give a channel that begins with presence-
      terminate --local => no user: give an id
      channels => no app key: give --key, PUSHER_APP_KEY or REVERB_APP_KEY
      auth --local a => no socket: give --socket-id
      auth --local --socket-id 1.2 => no channel and no user: give a channel, or --user-id to sign in
      auth --local --socket-id 1.2 news => 'news' is a public channel, which needs no signature
      auth --local --socket-id 1 private-a => --socket-id: '1' is not a socket id such as 123.456
      auth --local --socket-id 1.2 presence-a => a presence channel needs --user-id
      auth --local --socket-id 1.2 private-a --user-id 1
        => --user-id is for presence channels and for signing in
      sign --local => nothing to sign: give one of channel, user, request, webhook
      sign --local chanel => cannot sign a 'chanel'; did you mean 'channel'?
      sign --local request GET => a request needs a method and a path, such as GET /apps/1/channels
      sign --local request GET http://h/apps
        => 'http://h/apps' is not a path; a path begins with / and has no host
      sign --local webhook => no body: give it unchanged with --data @FILE or --data @-
      sign --local webhook x -d y => one argument too many: 'x'
      verify --local webhook -d y => no signature to compare with: give --signature
      verify --local request GET /a --signature x
        => a request has its signature in the query (auth_signature); leave out --signature
      trigger --local - --info user_count
        => --info works only for a single event, not for JSON lines
      trigger --local -c a -e x d --batch 5
        => --batch is for lines on standard input: give - as the data
      trigger --local -c a -e x d --rate 5
        => --rate is for lines on standard input: give - as the data
      trigger --local - --rate 0
        => --rate: '0' is not a number of events a second, such as 50 or 0.5
      trigger --local - --speed 10xx
        => --speed: '10xx' is not a factor from 0.001 to 1000000, such as 2.5 or 10x
      trigger --local - --rate 5/m
        => --rate: '5/m' is not a number of events a second, such as 50 or 0.5
      """ as Table)
  func `what cannot be asked, signed or sent is refused`(row: Table.Row) { row.expectRefusal() }

  @Test func `lines, channels of users and filters are read as what to ask or send`() throws {
    let lines = try trigger("--local - --rate 2.5/s --batch 3 -e x")
    #expect(lines.payload == .lines(event: "x"))
    #expect(lines.rate == 2.5 && lines.batchSize == 3 && lines.channels == [])
    for factor in ["10", "10x"] { #expect(try trigger("--local - --speed \(factor)").speed == 10) }
    #expect(try trigger("--local -c #server-to-user-7 -e x d").channels == ["#server-to-user-7"])
    #expect(
      try inspect("channels --local --prefix presence-").call == .channels(filter: "presence-"))
    #expect(try inspect("terminate --local 7").call == .terminate(user: "7"))
  }
}

struct `Data of trigger and sse` {
  private func texts(_ data: String) throws -> [String] {
    try TriggerSettings(
      arguments(["trigger", "--local", "-c", "a", "-e", "e", data]), environment: [:],
      files: PretendFiles(contents: ["f": "{a"]).access
    ).warnings.map(\.text)
  }

  @Test(arguments: [
    ("{a:1}", "not JSON at byte 1"), (" [1", "incomplete JSON"), ("@f", "not JSON at byte 1"),
  ])
  func `data that begins like JSON and is none is told`(data: String, reason: String) throws {
    #expect(
      try texts(data) == ["the data begins like JSON and is none (\(reason)): it is sent as a text"]
    )
  }

  @Test(arguments: ["text", "{}", "[1]", "\"a", "a{", ""])
  func `other data is sent without a word`(data: String) throws { #expect(try texts(data).isEmpty) }

  @Test func `the body of sse is told too, unless a header names its type`() throws {
    #expect(
      try sse("http://h/ -d {a:1}").warnings.map(\.text) == [
        "--data begins like JSON and is none (not JSON at byte 1): it is sent as a form"
      ])
    #expect(try sse("http://h/ -d {a:1} -H Content-Type:x").warnings.isEmpty)
    #expect(try sse("http://h/ -d a=1").warnings.isEmpty)
  }
}

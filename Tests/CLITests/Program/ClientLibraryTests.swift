import Foundation
import PusherCore
import Testing

/// PyPI's `pysher`, a client library.
@Suite("With the client library pysher", .serialized, .needsPython, .runsProgramsFirst)
struct PysherTests {
  /// Joins the channels and returns the answers in the channels' order.
  private func join(
    _ server: LocalServer, _ channels: [String], signer: String = "local-secret"
  ) throws -> (program: ChildProgram, answers: [String]) {
    let program = try PythonPeer.start(
      "pysher_chat.py", [server.port, LocalServer.key, signer] + channels, input: .pipe)
    let first = try program.line()
    return (program, [first] + (try program.lines(channels.count - 1)))
  }

  private func write(_ line: String, to program: ChildProgram) {
    program.write(Array(line.utf8) + [0x0A])
  }

  @Test func `pysher joins public, private and presence channels, hears and leaves`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["presence-lobby"], "--user-id", "terminal", "-L")
    let channels = ["news", "private-orders", "presence-lobby"]
    let (pysher, answers) = try join(server, channels)
    #expect(
      Array(answers[..<2])
        == channels[..<2].map { #"["\#($0)", "pusher_internal:subscription_succeeded", "{}"]"# })
    let roster = try JSONParser.parse(answers[2]).elements ?? []
    let members = try JSONParser.parse(try #require(roster.last?.text))["presence"]
    #expect(members?["count"] == .integer(2))
    #expect(members?["hash"]?["pysher"]?["name"] == .string("Grüße"))
    #expect(
      try program.line()
        == #"{"event":"pusher:member_added","channel":"presence-lobby","#
        + #""data":{"user_id":"pysher","user_info":{"name":"Grüße"}}}"#)

    for channel in channels {
      try server.trigger(channel, "note", #"{"n":1.10}"#).expect()
      #expect(try pysher.line() == #"["\#(channel)", "note", "{\"n\":1.10}"]"#)
    }
    _ = try program.line()

    let second = try server.subscribe(["presence-lobby"], "--user-id", "second", "-L")
    #expect(
      try pysher.line()
        == #"["presence-lobby", "pusher_internal:member_added", "{\"user_id\":\"second\"}"]"#)
    second.send(SIGTERM)
    #expect(
      try pysher.line()
        == #"["presence-lobby", "pusher_internal:member_removed", "{\"user_id\":\"second\"}"]"#)
    _ = try program.lines(2)

    write(#"["presence-lobby"]"#, to: pysher)
    #expect(
      try program.line().hasPrefix(
        #"{"event":"pusher:member_removed","channel":"presence-lobby","data":{"user_id":"pysher""#))
    pysher.closeInput()
    try pysher.result().expect()
  }

  @Test func `pysher sends client events and gets those of others`() throws {
    let server = try LocalServer()
    let (pysher, _) = try join(server, ["private-room", "presence-lobby"])
    let peer = try WebSocketPipe(server)
    let library = try ServerLibrary(server.port)
    for (channel, rest) in [
      ("private-room", ""), ("presence-lobby", #","custom_data":{"user_id":"peer"}"#),
    ] {
      let auth = try library.call(
        "authenticate", #"{"channel":"\#(channel)","socket_id":"\#(peer.socketID)"\#(rest)}"#)
      #expect(try peer.join(channel, auth).contains("subscription_succeeded"))
    }
    #expect(try pysher.line().contains("member_added"))

    for channel in ["private-room", "presence-lobby"] {
      write(#"["\#(channel)","client-typing",{"text":"Grüße"}]"#, to: pysher)
      let message = try JSONParser.parse(try peer.message())
      #expect(message["event"]?.text == "client-typing" && message["channel"]?.text == channel)
      #expect(message["data"] == .object([.init("text", .string("Grüße"))]))
      #expect(message["user_id"]?.text == (channel == "presence-lobby" ? "pysher" : nil))

      peer.send(#"{"event":"client-typing","channel":"\#(channel)","data":{"n":1}}"#)
      #expect(try pysher.line() == #"["\#(channel)", "client-typing", {"n": 1}]"#)
    }
  }

  @Test func `pysher joins a private channel by serve's own endpoint`() throws {
    let server = try LocalServer()
    let (_, answers) = try join(
      server, ["private-orders"], signer: "http://127.0.0.1:\(server.port)/pusher/auth")
    #expect(answers == [#"["private-orders", "pusher_internal:subscription_succeeded", "{}"]"#])
  }
}

/// PyPI's `websockets`: the protocol at the level of frames.
@Suite("With the library websockets", .serialized, .needsPython, .runsProgramsFirst)
struct WebSocketsLibraryTests {
  @Test func `greeting, subscription, pings, an event and leaving, message by message`() throws {
    let server = try LocalServer()
    let peer = try WebSocketPipe(server)
    #expect(peer.greeting["event"]?.text == "pusher:connection_established")
    #expect(
      peer.greeting["data"]?.text
        == #"{"socket_id":"\#(peer.socketID)","activity_timeout":120}"#)
    #expect(SocketID.isValid(peer.socketID))
    #expect(
      try peer.join("news")
        == #"{"event":"pusher_internal:subscription_succeeded","channel":"news","data":"{}"}"#)
    #expect(try peer.ask("pusher:ping") == #"{"event":"pusher:pong","data":"{}"}"#)
    peer.send("ping")
    #expect(try peer.message() == "pong")
    try server.trigger("news", "e", #"{"n":1}"#).expect()
    #expect(try peer.message() == #"{"event":"e","channel":"news","data":"{\"n\":1}"}"#)

    peer.send(#"{"event":"pusher:unsubscribe","data":{"channel":"news"}}"#)
    // The pong proves that the server has read the earlier messages.
    #expect(try peer.ask("pusher:ping").contains("pusher:pong"))
    try server.trigger("news", "e", "{}").expect()
    #expect(try peer.ask("pusher:ping").contains("pusher:pong"))
    peer.send("close")
    #expect(try peer.message() == #"[1000, ""]"#)
    #expect(try peer.end() == .exited(0))
  }

  @Test func `serve agrees to permessage-deflate, and not with --no-compression`() throws {
    let server = try LocalServer()
    let peers = try [WebSocketPipe(server), WebSocketPipe(server)]
    let library = try ServerLibrary(server.port)
    for peer in peers {
      #expect(peer.extensions == "permessage-deflate")
      let auth = try library.call(
        "authenticate", #"{"channel":"private-room","socket_id":"\#(peer.socketID)"}"#)
      #expect(try peer.join("private-room", auth).contains("subscription_succeeded"))
    }
    // With one context for all messages, a long message and its successors are intact.
    for text in [String(repeating: "Grüße ✓ ", count: 500), "Grüße ✓ Grüße"] {
      let message = #"{"event":"client-text","channel":"private-room","data":{"text":"\#(text)"}}"#
      peers[0].send(message)
      #expect(try peers[1].message() == message)
    }
    let plain = try LocalServer(options: ["--no-compression"])
    #expect(try WebSocketPipe(plain).extensions == "")
  }

  @Test func `serve that ends closes with 4200`() throws {
    let server = try LocalServer()
    let peer = try WebSocketPipe(server)
    #expect(try server.stop().ending == .signalled(SIGTERM))
    #expect(try peer.message() == #"[4200, "the server is shutting down"]"#)
    #expect(try peer.end() == .exited(0))
  }
}

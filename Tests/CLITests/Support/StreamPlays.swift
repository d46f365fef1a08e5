import Foundation
import PusherCore
import Testing

/// Servers that speak as well-known services do, and the recipes that read their streams.
final class StreamPlay {
  private let page: RecipePage
  /// A stage removes its folder at its end, so it must outlive its programs.
  private var stages: [RecipeStage] = []
  private static let question = #"{"model":"m","stream":true,"messages":[]}"#

  init(_ page: RecipePage) { self.page = page }

  func play(_ recipe: Recipe) throws {
    switch recipe {
    case .chat: try chat()
    case .messages: try messages()
    case .ollama: try ollama()
    case .tools: try tools()
    case .session: try session()
    case .hub: try hub()
    default: try changes()
    }
  }

  private func stage(_ server: ScriptedServer) throws -> RecipeStage {
    let stage = try RecipeStage(port: "1", streamPort: "\(server.port)", leads: .never)
    try stage.write("question.json", Self.question)
    try stage.write("openai.key", "Authorization: Bearer sk-1\n")
    try stage.write("anthropic.key", "x-api-key: sk-2\nanthropic-version: 2023-06-01\n")
    try stage.write("mercure.token", "Authorization: Bearer jwt\n")
    stages.append(stage)
    return stage
  }

  /// The script, without a wait between two attempts.
  private var brisk: String {
    page.script.replacing("--retry-post", with: "--retry-post --retry-delay 10ms")
  }

  private func expect(_ text: String, _ result: ProgramResult, status: Int32 = 0) {
    #expect(result.ending == .exited(status), "\(result.errorText)")
    #expect(result.outputText == text, "\(result.errorText)")
  }

  private static func busy(_ connection: ScriptedConnection) throws {
    try connection.send(
      stream: "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
  }

  private func chat() throws {
    let questions = Record<ScriptedConnection.Question>()
    let server = try ScriptedServer { connection in
      if connection.number == 1 {
        questions.add(try connection.question())
        return try Self.busy(connection)
      }
      questions.add(try connection.beginStream([], type: "text/event-stream; charset=utf-8"))
      try connection.send(stream: ModelStreams.chat("Hello", ", world", "!"))
      try connection.remain()
    }
    let result = try stage(server).start(brisk).result()
    expect("Hello, world!\n", result)
    #expect(result.errorText.contains("pusher-cli: usage.total_tokens: 9\n"))
    #expect(questions.values.count == 2)
    for question in questions.values {
      #expect(question.head.target == "/v1/chat/completions" && question.body == Self.question)
      #expect(question.head.headers["Authorization"] == "Bearer sk-1")
      #expect(question.head.headers["Content-Type"] == "application/json")
    }
  }

  private func messages() throws {
    let heads = Record<HTTPRequestHead>()
    let server = try ScriptedServer { connection in
      heads.add(try connection.beginStream().head)
      let end = connection.number == 1 ? ModelStreams.messageStop : ModelStreams.overloaded
      try connection.send(stream: ModelStreams.message("Hel", "lo", end: end))
      try connection.remain()
    }
    let stage = try stage(server)
    expect("Hello\n", try stage.start(brisk).result())
    let overloaded = try stage.start(brisk).result()
    expect("Hello\n", overloaded, status: 5)
    #expect(overloaded.errorText.contains("the server sent 'error': \(ModelStreams.overload)"))
    #expect(heads.values.map(\.target) == ["/v1/messages", "/v1/messages"])
    #expect(heads.values.first?.headers["x-api-key"] == "sk-2")
    #expect(heads.values.first?.headers["anthropic-version"] == "2023-06-01")
  }

  private func ollama() throws {
    let questions = Record<ScriptedConnection.Question>()
    let server = try ScriptedServer { connection in
      questions.add(
        try connection.beginStream(
          [("Transfer-Encoding", "chunked")], type: "application/x-ndjson"))
      for line in ModelStreams.ollama("The", " sky", "…") { try connection.send(chunk: line) }
      try connection.send(chunk: "")
    }
    expect("The sky…\n", try stage(server).start(page.script).result())
    #expect(questions.values.map(\.head.target) == ["/api/chat"])
    let body = try #require(questions.values.first?.body)
    #expect(try JSONParser.parse(body)["model"]?.text == "llama3.2")
  }

  /// The server chooses between a stream and one text, as the specification allows.
  private func tools() throws {
    let accepted = Record<String?>()
    let result = #"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add"},{"name":"count"}]}}"#
    let server = try ScriptedServer { connection in
      let question = try connection.question()
      accepted.add(question.head.headers["Accept"])
      let isStream = connection.number == 1
      try connection.send(
        body: isStream ? "event: message\r\ndata: \(result)\r\n\r\n" : result,
        type: isStream ? "text/event-stream" : "application/json")
    }
    let stage = try stage(server)
    for _ in 0..<2 { expect("add\ncount\n", try stage.start(page.script).result()) }
    #expect(accepted.values.count == 2)
    for type in ["application/json", "text/event-stream"] {
      #expect(accepted.values.allSatisfy { $0?.contains(type) == true }, "\(accepted.values)")
    }
  }

  /// The library ends the answer early, and has the rest for a GET of the session.
  private func session() throws {
    guard PythonPeer.isWanted else { return }
    let server = try PythonPeer.start("mcp_server.py", ["session"])
    defer { server.send(SIGKILL) }
    let script = try page.script.replacing("127.0.0.1:8000", with: "127.0.0.1:\(server.line())")
    let stage = try RecipeStage(port: "1", leads: .never)
    expect("done\n", try stage.start(script).result())
  }

  /// The second run begins after the last update of the first one, which the hub has forgotten.
  private func hub() throws {
    let hub = try MercureHub(.init(live: ["urn:a"]), .init(kept: ["urn:x"], live: ["urn:y"]))
    let stage = try stage(hub.server)
    try stage.write("reload-book.sh", "#!/bin/sh\necho reloaded\n")
    func line(_ id: String) -> String {
      #"{"event":"message","id":"\#(id)","data":{"of":"\#(id)"}}"#
    }
    let first = try stage.start(page.script)
    #expect(try first.line() == line("urn:a"))
    try StateText.await("urn:a", in: stage.folder + "/place")
    stage.end("sse")
    _ = try first.wait()
    let second = try stage.start(page.script)
    #expect(try second.lines(2) == ["reloaded", line("urn:y")])
    try second.errorLine(containing: "the server does not find event urn:a")
    #expect(hub.asked.values == [nil, "urn:a"])
    stage.end("sse")
  }

  private func changes() throws {
    let (server, heads) = try ScriptedServer.recording(
      ":ok\n\n" + (1...9).map(Self.change).joined())
    let stage = try stage(server)
    expect("Page 1\nPage 3\nPage 5\nPage 7\nPage 9\n", try stage.start(page.script).result())
    #expect(StateText.id(stage.folder + "/changes") == Self.place(9))
    _ = try stage.start(page.script).result()
    #expect(heads.values.map(\.target) == ["/v2/stream/recentchange", "/v2/stream/recentchange"])
    #expect(heads.values.map { $0.headers["Last-Event-ID"] } == [nil, Self.place(9)])
    #expect(heads.values.allSatisfy { $0.headers["User-Agent"] != nil })
  }

  /// A change as Wikimedia's EventStreams sends it; each second one is of another wiki.
  private static func change(_ number: Int) -> String {
    let wiki = number % 2 == 1 ? "enwiki" : "dewiki"
    let data = #"{"type":"new","title":"Page \#(number)","wiki":"\#(wiki)","bot":false}"#
    return "event: message\nid: \(place(number))\ndata: \(data)\n\n"
  }

  private static func place(_ number: Int) -> String {
    #"[{"topic":"eqiad.mediawiki.recentchange","partition":0,"offset":-1},"#
      + #"{"topic":"codfw.mediawiki.recentchange","partition":0,"timestamp":17000000000\#(number)}]"#
  }
}

/// Answers of language models, in the shapes of four services.
enum ModelStreams {
  /// Chat completions of OpenAI: events without names, the answer at `choices.0.delta.content`.
  static func chat(_ pieces: String...) -> String {
    let first = chunk(#"{"role":"assistant","content":""}"#)
    let content = pieces.map { chunk(#"{"content":"\#($0)"}"#) }.joined()
    let last = chunk("{}", finish: #""stop""#)
    let usage = #"data: {"id":"chatcmpl-1","choices":[],"usage":{"total_tokens":9}}"#
    return first + content + last + usage + "\n\ndata: [DONE]\n\n"
  }

  static func chunk(_ delta: String, finish: String = "null") -> String {
    let choice = #"{"index":0,"delta":\#(delta),"logprobs":null,"finish_reason":\#(finish)}"#
    return #"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[\#(choice)]}"#
      + "\n\n"
  }

  /// Messages of Anthropic: named events, the answer at `delta.text`.
  static func message(_ pieces: String..., end: String = messageStop) -> String {
    let start = #"{"type":"message_start","message":{"id":"msg_1","role":"assistant"}}"#
    let block = #"{"type":"content_block_start","index":0,"content_block":{"text":""}}"#
    let deltas = pieces.map { piece in
      let delta = #"{"type":"text_delta","text":"\#(piece)"}"#
      return event(
        "content_block_delta", #"{"type":"content_block_delta","index":0,"delta":\#(delta)}"#)
    }
    return event("message_start", start) + event("content_block_start", block)
      + event("ping", #"{"type": "ping"}"#) + deltas.joined() + end
  }

  static let messageStop =
    event("content_block_stop", #"{"type":"content_block_stop","index":0}"#)
    + event("message_delta", #"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#)
    + event("message_stop", #"{"type":"message_stop"}"#)

  /// The data of ``overloaded``.
  static let overload = #"{"type":"error","error":{"type":"overloaded_error"}}"#
  static let overloaded = event("error", overload)

  /// Chat of Ollama: JSON lines, the answer at `message.content`.
  static func ollama(_ pieces: String...) -> [String] {
    let last = #"{"model":"llama3.2","message":{"role":"assistant","content":""},"done":true}"#
    return pieces.map { piece in
      let message = #"{"role":"assistant","content":"\#(piece)"}"#
      return #"{"model":"llama3.2","message":\#(message),"done":false}"# + "\n"
    } + [last + "\n"]
  }

  private static func event(_ name: String, _ data: String) -> String {
    "event: \(name)\ndata: \(data)\n\n"
  }
}

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

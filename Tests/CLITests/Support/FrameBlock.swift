import PusherCore

/// Many events as one piece of bytes, as a server would send them, made once.
struct FrameBlock: Sendable {
  let count: Int
  let bytes: [UInt8]

  /// So many events with about 200 bytes of data each, compressed if `deflate` says how.
  init(count: Int, deflate: PerMessageDeflateParameters? = nil) {
    let socket = WebSocketConnection(
      role: .server, deflate: deflate, random: SystemRandomNumberGenerator(), input: nil)
    for number in 0..<count {
      let data = #"{"id":\#(number),"text":"\#(String(repeating: "steady ", count: 25))"}"#
      socket.send(text: ScriptedConnection.message("price.updated", "news", data))
    }
    self.count = count
    bytes = socket.output.view.array
  }
}

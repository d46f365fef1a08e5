import PusherCore

/// Many events in one piece of bytes, in a server's format, made once.
struct FrameBlock: Sendable {
  let count: Int
  let bytes: [UInt8]

  /// Makes `count` events with about 200 bytes of data each, compressed with `deflate` unless nil.
  init(count: Int, deflate: PerMessageDeflate? = nil) {
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

enum Flood {
  static let data = #"{"text":"\#(String(repeating: "flood ", count: 170))"}"#
}

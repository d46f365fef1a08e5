import PusherCore
import TestSupport

extension ScriptedConnection {
  /// Returns the head of the next request.
  ///
  /// A connection that begins a TLS handshake only checks the protocol of the port, and is not part
  /// of the script.
  func request() throws -> HTTPRequestHead {
    while true {
      if input.count > 0, input.view[0] == 22 { throw PeerLeft() }
      if let head = try HTTPHeadParser.request(from: input, limits: HTTPHeadLimits()) {
        return head
      }
      try receive(into: input)
    }
  }

  @discardableResult func upgrade(deflate: Bool = false) throws -> HTTPRequestHead {
    let request = try request()
    try upgrade(request, deflate: deflate)
    return request
  }

  func upgrade(_ request: HTTPRequestHead, deflate: Bool = false) throws {
    let (head, negotiated) = try ServerHandshake.respond(to: request, deflate: deflate)
    try send(bytes: head.encode())
    socket = WebSocketConnection(
      role: .server, deflate: negotiated.deflate, random: SystemRandomNumberGenerator(),
      input: input)
  }

  private func openSocket() throws -> WebSocketConnection {
    guard let socket else { throw Unexpected("the script has not upgraded") }
    return socket
  }

  private func write(_ body: (WebSocketConnection) -> Void) throws {
    let socket = try openSocket()
    body(socket)
    try send(socket.output)
  }

  func send(text: String) throws { try write { $0.send(text: text) } }
  func send(binary: [UInt8]) throws { try write { $0.send(binary: binary) } }
  func ping(_ payload: [UInt8]) throws { try write { $0.ping(payload) } }

  /// Returns the next event, and answers pings before it.
  func event() throws -> ScriptedEvent {
    let socket = try openSocket()
    while true {
      while let event = socket.next() {
        try send(socket.output)
        switch event {
        case .text(let text): return .text(text.text)
        case .binary(let bytes): throw Unexpected("a binary message \(bytes.array)")
        case .pong(let payload): return .pong(payload.array)
        case .closed(let code, let reason): return .closed(code: code?.rawValue, reason)
        case .failed(let error): throw Unexpected("the client broke WebSocket: \(error)")
        case .ping: break
        }
      }
      try receive(into: socket.input)
    }
  }

  /// Closes with a code, waits for the client's close frame, and ends.
  func close(code: UInt16, reason: String = "") throws {
    try write { $0.close(CloseCode(rawValue: code), reason: reason) }
    while true {
      if case .closed = try event() { break }
    }
    end()
  }
}

enum ScriptedEvent: Equatable {
  case text(String)
  case pong([UInt8])
  case closed(code: UInt16?, String)
}

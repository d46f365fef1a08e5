package import PusherCore

/// A copy of a connection's event that may be kept and compared.
package enum ReceivedEvent: Equatable {
  case text(String)
  case binary([UInt8])
  case ping([UInt8])
  case pong([UInt8])
  case closed(UInt16?, String)
  case failed(WebSocketError)

  package init(_ event: WebSocketEvent) {
    switch event {
    case .text(let view): self = .text(view.text)
    case .binary(let view): self = .binary(view.array)
    case .ping(let view): self = .ping(view.array)
    case .pong(let view): self = .pong(view.array)
    case .closed(let code, let reason): self = .closed(code?.rawValue, reason)
    case .failed(let error): self = .failed(error)
    }
  }
}

extension WebSocketConnection {
  /// A client with known masks.
  package static func client(
    deflate: PerMessageDeflate? = nil, limits: WebSocketLimits = WebSocketLimits()
  ) -> WebSocketConnection {
    WebSocketConnection(
      role: .client, deflate: deflate, limits: limits,
      random: FixedGenerator(value: 0x37FA_213D))
  }

  package static func server(
    deflate: PerMessageDeflate? = nil, limits: WebSocketLimits = WebSocketLimits()
  ) -> WebSocketConnection {
    WebSocketConnection(
      role: .server, deflate: deflate, limits: limits, random: SystemRandomNumberGenerator())
  }

  package func drain() -> [ReceivedEvent] {
    var events: [ReceivedEvent] = []
    while let event = next() { events.append(ReceivedEvent(event)) }
    return events
  }

  package func events(after bytes: [UInt8]) -> [ReceivedEvent] {
    receive(bytes)
    return drain()
  }

  package func takeOutput() -> [UInt8] {
    let bytes = output.array
    output.consume(bytes.count)
    return bytes
  }
}

/// A generator that always draws the same number, for vectors with a known mask.
package struct FixedGenerator: RandomNumberGenerator {
  package let value: UInt64

  package init(value: UInt64) { self.value = value }

  package mutating func next() -> UInt64 { value }
}

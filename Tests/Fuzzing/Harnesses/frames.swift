import PusherCore
import TestSupport

/// Checks frames with and without permessage-deflate, for both roles (RFC 6455, RFC 7692).
///
/// Input: a byte of choices, a byte that cuts, then the peer's bytes. The cuts must change nothing.
/// No message exceeds its limit. All answers are legal for the peer.
func fuzzFrames(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let (choices, cut) = input.choicesAndCut()
  let link = FrameLink(choices: choices)
  if choices & 0x40 != 0 {
    link.sendAndReceive(input.bytes, cut: cut)
  } else {
    link.receive(input.bytes, cut: cut)
  }
  return 0
}

private struct FrameLink {
  private let role: WebSocketConnection.Role
  private let deflate: PerMessageDeflate?
  private let limits: WebSocketLimits

  init(choices: UInt8) {
    role = choices & 1 == 0 ? .client : .server
    deflate =
      choices & 2 == 0
      ? nil
      : PerMessageDeflate(
        serverNoContextTakeover: choices & 4 != 0, clientNoContextTakeover: choices & 8 != 0,
        serverMaxWindowBits: choices & 16 == 0 ? 15 : 9,
        clientMaxWindowBits: choices & 16 == 0 ? 15 : 9)
    limits =
      choices & 32 == 0
      ? WebSocketLimits(frame: 65_536, message: 65_536) : WebSocketLimits(frame: 200, message: 300)
  }

  private func connection(_ role: WebSocketConnection.Role) -> WebSocketConnection {
    WebSocketConnection(
      role: role, deflate: deflate, limits: limits, random: SeededGenerator(seed: 1))
  }

  // MARK: Frames of the peer

  func receive(_ bytes: [UInt8], cut: UInt8) {
    let (whole, other) = (connection(role), connection(role))
    let events = read([bytes], by: whole)
    let eventsOfPieces = read(pieces(of: bytes, cut: cut), by: other)
    require(events == eventsOfPieces, "cut: \(events) became \(eventsOfPieces)")
    require(whole.output.array == other.output.array, "the answers differ with the cut")
    require(whole.closeReceived?.code == other.closeReceived?.code, "the close codes differ")
    check(events)
    whole.inputEnded()
    let atEnd = drain(whole)
    require(atEnd.count == (Self.isOver(events.last) ? 0 : 1), "the end gave \(atEnd)")
    require(whole.state == .closed, "open after the end")
    checkAnswers(whole.output.array)
  }

  private func read(_ pieces: [[UInt8]], by connection: WebSocketConnection) -> [ReceivedEvent] {
    pieces.flatMap { piece in
      connection.receive(piece)
      return drain(connection)
    }
  }

  private func drain(_ connection: WebSocketConnection) -> [ReceivedEvent] {
    var events: [ReceivedEvent] = []
    while let event = connection.next() {
      if case .text(let view) = event {
        require(String(validating: view.array, as: UTF8.self) != nil, "a text that is not UTF-8")
      }
      events.append(ReceivedEvent(event))
      require(connection.input.capacity <= 1 << 20, "the input grows")
    }
    return events
  }

  private static func isOver(_ event: ReceivedEvent?) -> Bool {
    switch event {
    case .closed, .failed: true
    default: false
    }
  }

  private func check(_ events: [ReceivedEvent]) {
    for event in events {
      switch event {
      case .text(let text): require(text.utf8.count <= limits.message, "a text beyond the limit")
      case .binary(let bytes): require(bytes.count <= limits.message, "a message beyond the limit")
      case .ping(let bytes), .pong(let bytes): require(bytes.count <= 125, "a long control frame")
      case .closed(let code, _):
        require(code.map { CloseCode(rawValue: $0).isValidOnWire } ?? true, "a close code")
      case .failed: break
      }
    }
    require(!events.dropLast().contains { Self.isOver($0) }, "events after the end: \(events)")
  }

  /// Checks that the peer accepts all answers: pongs, and one close frame last.
  private func checkAnswers(_ bytes: [UInt8]) {
    let peer = connection(role == .client ? .server : .client)
    for event in read([bytes], by: peer) {
      switch event {
      case .pong, .closed: break
      default: finding("an answer that the peer takes for \(event)")
      }
    }
    require(peer.input.isEmpty, "half a frame in the output")
  }

  // MARK: Our own frames

  /// Sends the lines of `bytes` as messages from one end and reads them at the other.
  func sendAndReceive(_ bytes: [UInt8], cut: UInt8) {
    let sender = connection(role == .client ? .server : .client)
    var sent: [ReceivedEvent] = []
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      let message = Array(line.prefix(limits.message))
      if let text = String(validating: message, as: UTF8.self) {
        sender.send(text: text)
        sent.append(.text(text))
      } else {
        sender.send(binary: message)
        sent.append(.binary(message))
      }
    }
    let received = read(pieces(of: sender.output.array, cut: cut), by: connection(role))
    // Deflate may make a frame longer than its message, so that a small frame limit refuses it.
    if limits.frame < limits.message { return }
    require(sent == received, "sent \(sent), received \(received)")
  }
}

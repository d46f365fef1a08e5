import PusherCore
import PusherLines
import TestSupport

/// Compares the fast way from a message to its line with the general way, and both with a simple
/// JSON reader.
///
/// Input: a byte of choices, then the message, or the text of its data. The reference decides what
/// is a message. Its line must be strict JSON with the same content. The message stands before a
/// protected page.
func fuzzLines(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let choices = input.byte()
  // The frame decoder passes only UTF-8.
  let given = Array(text(input.rest).utf8)
  let message = choices & 0x0E == 4 ? usual(around: given) : given
  let time = choices & 1 == 0 ? nil : "2026-11-21T01:39:31.121Z"
  let rig = LineRig(time: time, offset: Int(choices >> 4))
  let reference = ReferenceMessage(message)
  let fast = rig.fast(message)
  guard let line = rig.general(message) else {
    require(reference == nil, "a message that was refused")
    require(fast == nil, "the fast way took what is no message")
    return 0
  }
  guard let reference else { finding("taken for a message: \(text(line))") }
  require(fast == nil || fast == line, "fast \(text(fast ?? [])), general \(text(line))")
  checkLine(line, reference, time: time)
  let styled = styledForTerminal(line)
  checkLine(styled, reference, time: time)
  requireTame(text(styled.dropLast()), "for the terminal")
  return 0
}

private func styledForTerminal(_ line: [UInt8]) -> [UInt8] {
  let output = ByteBuffer()
  withView(line) { EventLineStyle(forTerminal: true).write(EventLine($0), to: output) }
  return output.array
}

/// Returns a message of the usual shape with `text` as its data.
private func usual(around text: [UInt8]) -> [UInt8] {
  var message = Array(#"{"event":"e","channel":"c","data":""#.utf8)
  for byte in text {
    switch byte {
    case 0x22, 0x5C: message += [0x5C, byte]
    case 0..<0x20: message += Array("\\u00".utf8) + Array(Hex.encode([byte]).utf8)
    default: message.append(byte)
    }
  }
  return message + Array("\"}".utf8)
}

private func checkLine(_ line: [UInt8], _ reference: ReferenceMessage, time: String?) {
  require(line.last == 0x0A, "a line without its end")
  let bytes = Array(line.dropLast())
  requireJSON(bytes, "a line")
  require(
    ReferenceJSON(bytes) == reference.line(time: time),
    "the line says something else: \(text(bytes))")
}

private struct ReferenceMessage {
  private let event: [UInt8]
  private let channel: ReferenceJSON?
  private let userID: ReferenceJSON?
  private let data: ReferenceJSON?
  private let source: [UInt8]

  init?(_ message: [UInt8]) {
    guard let object = ReferenceJSON(message), case .object = object,
      case .string(let event) = object.last("event")
    else { return nil }
    self.event = event
    channel = object.last("channel")
    userID = object.last("user_id")
    data = object.last("data")
    source = message
  }

  func line(time: String?) -> ReferenceJSON {
    var members: [ReferenceJSON.Member] = []
    func add(_ name: String, _ value: ReferenceJSON) {
      members.append(.init(name: Array(name.utf8), value: value))
    }
    if let time { add("received_at", .string(Array(time.utf8))) }
    add("event", .string(event))
    if case .string(let name) = channel {
      add("channel", .string(name))
    } else {
      add("channel", .literal("null"))
    }
    switch userID {
    case .string(let id), .number(let id): add("user_id", .string(id))
    default: break
    }
    add("data", lineData)
    return .object(members)
  }

  private var lineData: ReferenceJSON {
    switch data {
    case nil, .literal("null"): return .literal("null")
    case .string(let inner)?:
      guard let value = ReferenceJSON(inner), value.depth <= 250 else { return .string(inner) }
      return value
    case let value?:
      if value.depth <= 250 { return value }
      return .string(Self.lastDataText(source))
    }
  }

  /// Returns the bytes of the last `data` member's value, found with the envelope's own reader.
  private static func lastDataText(_ message: [UInt8]) -> [UInt8] {
    withView(message) { view in (try? Envelope(view))?.dataToken?.array ?? [] }
  }
}

/// Both ways to a line.
///
/// Other bytes follow the message, as in a socket's buffer, and then a guard.
private struct LineRig {
  nonisolated(unsafe) private static let input = GuardedBytes(room: 1 << 16)
  private let output = ByteBuffer(capacity: 64)
  private let maker: LineMaker
  private let slowMaker: LineMaker
  private let offset: Int

  init(time: String?, offset: Int) {
    maker = LineMaker(output: output, service: .pusher)
    slowMaker = LineMaker(output: output, service: .pusher, usesFastWay: false)
    if let time { for maker in [maker, slowMaker] { maker.setReceivedAt(time) } }
    self.offset = offset
  }

  private func view(_ message: [UInt8]) -> ByteView {
    Self.input.view(message, beforeEnd: offset)
  }

  func fast(_ message: [UInt8]) -> [UInt8]? {
    output.removeAll()
    let view = view(message)
    let whole = UnsafeRawBufferPointer(start: view.base, count: view.count + ByteBuffer.padding)
    let before = Array(whole)
    let result = maker.writeFast(view, filter: nil)
    require(Array(whole) == before, "the input has changed")
    if result == .written { return output.array }
    require(result == .unusual && output.isEmpty, "declined, but wrote")
    return nil
  }

  func general(_ message: [UInt8]) -> [UInt8]? {
    output.removeAll()
    guard let envelope = try? Envelope(view(message)) else { return nil }
    maker.write(envelope)
    let line = output.array
    output.removeAll()
    slowMaker.write(envelope)
    require(output.array == line, "data in one pass differs")
    return line
  }
}

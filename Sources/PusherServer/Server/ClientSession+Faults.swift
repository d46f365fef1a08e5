internal import PusherCore

extension ClientSession {
  /// Returns false if the client takes no more messages.
  func deliverStaged(_ frame: SharedFrame, on channel: String, at now: Instant) -> Bool {
    guard isOpen, !faults.isBlackhole else { return false }
    let change = context.faults.change(on: channel, &faults)
    if change == .reorder, faults.held == nil {
      noteFault("an event waits for the next event")
      faults.held = frame
      return true
    }
    var isSent = put(frame, changedBy: change, at: now)
    if let held = faults.held {
      faults.held = nil
      isSent = put(held, at: now) && isSent
    }
    endStaged(context.faults.ending(after: channel, &faults), at: now)
    return isSent
  }

  /// Closes the connection if a fault is due before any event.
  func stageGreeting(at now: Instant) {
    guard isOpen, !faults.isBlackhole, !context.faults.isEmpty else { return }
    endStaged(context.faults.ending(after: nil, &faults), at: now)
  }

  /// Answers a ping, with a staged delay if a fault is due; `frame` is the payload of a ping frame.
  func answerPing(frame: [UInt8]? = nil, at now: Instant) {
    guard !context.faults.isEmpty, let delay = context.faults.pongDelay(&faults) else {
      sendPong(frame: frame, at: now)
      return
    }
    guard faults.latePongs.count < FaultLine.pongLimit else { return }
    noteFault("a pong is delayed")
    let pong = LatePong(due: now.advanced(by: delay), frame: frame)
    let place = faults.latePongs.firstIndex { $0.due > pong.due } ?? faults.latePongs.endIndex
    faults.latePongs.insert(pong, at: place)
  }

  private func sendPong(frame: [UInt8]?, at now: Instant) {
    guard let frame else {
      send(hub.text.pong, at: now)
      return
    }
    connection.pong(frame)
    context.ledger.touch(self)
  }

  func sendLatePongs(at now: Instant) {
    while let pong = faults.latePongs.first, pong.due <= now {
      faults.latePongs.removeFirst()
      sendPong(frame: pong.frame, at: now)
    }
  }

  func refusesStaged(_ channel: String) -> Bool {
    guard !context.faults.isEmpty, context.faults.refusal(on: channel, &faults) != nil else {
      return false
    }
    noteFault("a signature is refused")
    return true
  }

  private func endStaged(_ ending: StagedFault.Kind?, at now: Instant) {
    switch ending {
    case .drop:
      noteFault("the connection is dropped")
      finish(reason: "dropped by a staged fault", at: now)
    case .close(let code):
      noteFault("the connection is closed with \(code)")
      close(CloseCode(rawValue: code), reason: "a staged fault", at: now)
    case .blackhole:
      noteFault("the server sends nothing more")
      faults.isBlackhole = true
      faults.held = nil
      faults.latePongs.removeAll()
    default: break
    }
  }

  private func put(
    _ frame: SharedFrame, changedBy change: StagedFault.Kind? = nil, at now: Instant
  ) -> Bool {
    var frame = frame
    switch change {
    case .duplicate:
      noteFault("an event is sent twice")
      guard deliverPlain(frame, at: now) else { return false }
    case .badJSON:
      noteFault("an event is sent without its last byte")
      frame = SharedFrame(String(frame.text.dropLast()))
    case .hugeFrame(let size):
      noteFault("an event is padded to \(size) bytes")
      faults.allowance = size
      frame = SharedFrame(Self.padded(frame.text, to: size))
    case .splitUTF8:
      noteFault("an event is split into two fragments")
      frame = SharedFrame(inTwoFragments: frame.text)
    default: break
    }
    return deliverPlain(frame, at: now)
  }

  /// Adds a member to a message, so that it has this size, in bytes.
  private static func padded(_ text: String, to size: Int) -> String {
    let start = text.dropLast() + #","padding":""#
    let count = max(0, size - start.utf8.count - 2)
    return start + String(repeating: "x", count: count) + #""}"#
  }

  private func noteFault(_ what: String) {
    hub.log(.clientError(socketID: socketID, reason: "staged fault: \(what)"))
  }
}

internal import PusherCore

// What staged faults make of what goes out.
extension ClientSession {
  /// Sends an event of a channel as the faults have it; false when the client can get nothing.
  func deliverStaged(_ frame: SharedFrame, on channel: String) -> Bool {
    guard isOpen, !faults.isBlackhole else { return false }
    let change = hub.faults.change(on: channel, &faults)
    if change == .reorder, faults.held == nil {
      noteFault("an event waits for the next one")
      faults.held = frame
      return true
    }
    var isSent = put(frame, changedBy: change)
    if let held = faults.held {
      faults.held = nil
      isSent = put(held) && isSent
    }
    endStaged(hub.faults.ending(behind: channel, &faults))
    return isSent
  }

  /// Ends the connection if a fault says so before any event.
  func stageGreeting() {
    guard isOpen, !faults.isBlackhole, !hub.faults.isEmpty else { return }
    endStaged(hub.faults.ending(behind: nil, &faults))
  }

  /// Answers a ping, late if a fault says so; `frame` is what a ping frame held.
  func answerPing(frame: [UInt8]? = nil, at now: Instant) {
    guard !hub.faults.isEmpty, let delay = hub.faults.pongDelay(&faults) else {
      sendPong(frame: frame)
      return
    }
    guard faults.latePongs.count < FaultLine.pongLimit else { return }
    noteFault("a pong is held back")
    let pong = LatePong(due: now.advanced(by: delay), frame: frame)
    let place = faults.latePongs.firstIndex { $0.due > pong.due } ?? faults.latePongs.endIndex
    faults.latePongs.insert(pong, at: place)
  }

  private func sendPong(frame: [UInt8]?) {
    guard let frame else {
      send(hub.text.pong)
      return
    }
    connection.pong(frame)
    hub.touch(self)
  }

  /// Sends the pongs that are due.
  func sendLatePongs(at now: Instant) {
    while let pong = faults.latePongs.first, pong.due <= now {
      faults.latePongs.removeFirst()
      sendPong(frame: pong.frame)
    }
  }

  /// Whether a fault refuses the signature of a subscription.
  func refusesStaged(_ channel: String) -> Bool {
    guard !hub.faults.isEmpty, hub.faults.refusal(on: channel, &faults) != nil else { return false }
    noteFault("a signature is refused")
    return true
  }

  private func endStaged(_ ending: StagedFault.Kind?) {
    switch ending {
    case .drop:
      noteFault("the connection is dropped")
      drop(reason: "dropped by a staged fault")
    case .close(let code):
      noteFault("the connection is closed with \(code)")
      close(CloseCode(rawValue: code), reason: "a staged fault", at: hub.now)
    case .blackhole:
      noteFault("nothing goes out any more")
      faults.isBlackhole = true
      faults.held = nil
      faults.latePongs.removeAll()
    default: break
    }
  }

  private func put(_ frame: SharedFrame, changedBy change: StagedFault.Kind? = nil) -> Bool {
    switch change {
    case .duplicate:
      noteFault("an event is sent twice")
      return deliverPlain(frame) && deliverPlain(frame)
    case .badJSON:
      noteFault("an event is cut")
      return deliverPlain(SharedFrame(String(frame.text.dropLast())))
    case .hugeFrame(let size):
      noteFault("an event is made \(size) bytes long")
      faults.allowance = size
      return deliverPlain(SharedFrame(Self.padded(frame.text, to: size)))
    case .splitUTF8:
      noteFault("an event is cut in two fragments")
      return deliverPlain(SharedFrame(inTwoFragments: frame.text))
    default: return deliverPlain(frame)
    }
  }

  /// A message with one more member, so that it has this many bytes.
  private static func padded(_ text: String, to size: Int) -> String {
    let start = text.dropLast() + #","padding":""#
    let count = max(0, size - start.utf8.count - 2)
    return start + String(repeating: "x", count: count) + #""}"#
  }

  private func noteFault(_ what: String) {
    hub.log(.clientError(socketID: socketID, reason: "staged fault: \(what)"))
  }
}

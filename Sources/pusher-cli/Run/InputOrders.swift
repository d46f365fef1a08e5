internal import PusherCore

/// Executes the lines of standard input in order, with `--stdin`.
///
/// An event waits for the confirmation of its channel, and each line for room in the send buffer.
/// Following lines stay unread meanwhile. Warnings name the number of a rejected line.
final class InputOrders {
  private let channels: ChannelMembership
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let lines = InputLines()
  private var waiting: ClientEvent?
  private var hasToldEnd = false

  private var feed: ChannelsFeed { channels.feed }

  init(loop: EventLoop, channels: ChannelMembership, diagnostics: Diagnostics) {
    (self.loop, self.channels, self.diagnostics) = (loop, channels, diagnostics)
    lines.onInput = { [unowned self] in carryOut() }
    loop.add(lines)
  }

  /// Executes lines until one must wait; called after every change.
  func carryOut() {
    while feed.hasOutputRoom {
      if let event = waiting, !settle(event) { break }
      waiting = nil
      guard let line = lines.next() else { break }
      begin(line)
    }
    lines.isPaused = waiting != nil || !feed.hasOutputRoom
    tellEnd()
  }

  /// Stops reading, and reports a waiting event.
  func stop() {
    loop.remove(lines)
    guard let event = waiting else { return }
    waiting = nil
    reject("\(event.name) was not sent: the run ended before \(event.channel) was subscribed")
  }

  private func begin(_ line: [UInt8]) {
    do throws(InputOrder.Fault) {
      switch try InputOrder.read(line) {
      case nil: break
      case .send(let event): waiting = event
      case .subscribe(let channel): channels.join(channel)
      case .unsubscribe(let channel):
        guard channels.state(of: channel) != .unwanted else {
          return reject("'\(channel)' is not subscribed")
        }
        channels.leave(channel)
      }
    } catch { reject("\(error)") }
  }

  /// Sends an event or rejects it; returns false if it must wait.
  private func settle(_ event: ClientEvent) -> Bool {
    switch channels.state(of: event.channel) {
    case .unwanted: reject("'\(event.channel)' is not subscribed")
    case .refused: reject("'\(event.channel)' was refused")
    case .expected: return false
    case .subscribed: return feed.trigger(event)
    }
    return true
  }

  private func reject(_ reason: String) {
    diagnostics.warning("line \(lines.number) of standard input: \(reason)")
  }

  private func tellEnd() {
    guard lines.hasEnded, waiting == nil, !hasToldEnd else { return }
    hasToldEnd = true
    if let failure = lines.failure { return diagnostics.warning(failure) }
    diagnostics.info("standard input ended after \(lines.number) lines; the run continues")
  }
}

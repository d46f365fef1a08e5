internal import PusherCore

/// Sends client events, each channel's by its first subscriber.
///
/// The server confirms none of them, so an event counts as sent once it is on the connection.
final class ClientSender: BenchSender {
  private let senders: [Int: BenchSubscriber]
  private let message: BenchMessage
  private let ledger: SendLedger
  private let loop: EventLoop

  /// - Parameter senders: One for each channel that this process sends on, by the channel's number.
  init(
    _ senders: [Int: BenchSubscriber], _ message: BenchMessage, _ ledger: SendLedger,
    loop: EventLoop
  ) {
    (self.senders, self.message, self.ledger, self.loop) = (senders, message, ledger, loop)
  }

  var isIdle: Bool { true }

  func send(_ call: Int, at now: Instant) {
    let plan = ledger.plan
    let channel = plan.channel(of: call)
    guard let sender = senders[channel] else { return }
    ledger.noteBegin(call, at: loop.now)
    for number in plan.numbers(of: call) {
      let name = plan.name(of: number, in: call)
      do throws(ClientEventError) {
        let event = try ClientEvent(
          channel: sender.channelName, name: BenchMessage.event, data: message.data(name))
        guard sender.feed?.trigger(event) == true else {
          return ledger.noteFailed(
            call, "unsent", "the sender of \(sender.channelName) is not subscribed", at: loop.now)
        }
      } catch { return ledger.noteFailed(call, "unsent", "\(error)", at: loop.now) }
    }
    ledger.noteAccepted(call, at: loop.now)
  }
}

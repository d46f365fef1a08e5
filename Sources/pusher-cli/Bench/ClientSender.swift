internal import PusherCore

/// Sends client events, each channel's by its first subscriber.
///
/// The server confirms none of them, so an event counts as sent once the system has it.
final class ClientSender: BenchSender {
  /// A call that waits in the output of its connection.
  private struct Waiting {
    let call: Int
    /// ``BenchSubscriber/losses`` when the call was made.
    let connection: Int
  }

  /// By channel.
  private let senders: [BenchSubscriber]
  private var waiting: [Fifo<Waiting>]
  private let message: BenchMessage
  private let ledger: SendLedger
  private let loop: EventLoop

  /// - Parameter senders: One for each channel, in order.
  init(
    _ senders: [BenchSubscriber], _ message: BenchMessage, _ ledger: SendLedger, loop: EventLoop
  ) {
    (self.senders, self.message, self.ledger, self.loop) = (senders, message, ledger, loop)
    waiting = senders.map { _ in Fifo() }
  }

  var isIdle: Bool {
    for channel in senders.indices { settle(channel) }
    return waiting.allSatisfy(\.isEmpty)
  }

  func send(_ call: Int, at now: Instant) {
    let plan = ledger.plan
    let channel = plan.channel(of: call)
    let sender = senders[channel]
    ledger.noteBegin(call, at: loop.now)
    for number in plan.numbers(of: call) {
      let name = plan.name(of: number, in: call)
      do throws(ClientEventError) {
        let event = try ClientEvent(
          channel: sender.channelName, name: BenchMessage.event, data: message.data(name))
        guard sender.feed?.trigger(event) == true else { return fail(call, sender) }
      } catch { return ledger.noteFailed(call, "unsent", "\(error)", at: loop.now) }
    }
    waiting[channel].append(Waiting(call: call, connection: sender.losses))
    settle(channel)
  }

  func stop() {
    for channel in senders.indices {
      settle(channel)
      for left in waiting[channel].takeAll() { fail(left.call, senders[channel]) }
    }
  }

  private func fail(_ call: Int, _ sender: BenchSubscriber) {
    ledger.noteFailed(
      call, "unsent", "the sender of \(sender.channelName) is not connected", at: loop.now)
  }

  /// Counts the calls that have left, and those whose connection was lost before.
  private func settle(_ channel: Int) {
    let sender = senders[channel]
    while let first = waiting[channel].first {
      if first.connection != sender.losses {
        fail(first.call, sender)
      } else if sender.feed?.hasSentAll == true {
        ledger.noteAccepted(first.call, at: loop.now)
      } else {
        return
      }
      _ = waiting[channel].popFirst()
    }
  }
}

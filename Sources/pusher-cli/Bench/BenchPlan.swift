internal import PusherCore

/// The plan of sending: which call is due when, and the numbers of its events.
///
/// A call has events of one channel, and calls take turns over the channels. Events of a channel
/// are numbered from 0. The plan does not depend on what happens: a late sender finds the time at
/// which the call was meant to be sent.
struct BenchPlan: Equatable, Sendable {
  let channels: Int
  /// Events of one call.
  let batch: Int
  let callCount: Int
  private let callsPerSecond: Double
  private let ramp: Double

  init(_ load: BenchLoad, batch: Int? = nil) {
    channels = load.channels
    self.batch = batch ?? load.batch
    callsPerSecond = load.rate / Double(self.batch)
    ramp = min(load.ramp, load.time).inSeconds
    // The rate of the ramp is half of the full rate on average.
    let calls = callsPerSecond * (load.time.inSeconds - ramp / 2)
    // Rounding may leave a call that would be due at the very end.
    callCount = max(1, Int((calls - 1e-6).rounded(.up)))
  }

  var eventCount: Int { callCount * batch }

  /// Returns the time of a call after the beginning.
  func time(of call: Int) -> Duration {
    let number = Double(call)
    let atRamp = callsPerSecond * ramp / 2
    let seconds =
      number < atRamp
      ? (2 * ramp * number / callsPerSecond).squareRoot()
      : ramp + (number - atRamp) / callsPerSecond
    return .nanoseconds(Int64((seconds * 1e9).rounded()))
  }

  func channel(of call: Int) -> Int { call % channels }

  func numbers(of call: Int) -> Range<Int> {
    let first = call / channels * batch
    return first..<(first + batch)
  }

  /// Returns the call of an event; `nil` if the plan has no such event.
  func call(of number: Int, on channel: Int) -> Int? {
    guard number >= 0, (0..<channels).contains(channel), number < eventCount else { return nil }
    let call = number / batch * channels + channel
    return call < callCount ? call : nil
  }

  /// Number of events on the channel with the most events.
  var longestChannel: Int { (callCount + channels - 1) / channels * batch }
}

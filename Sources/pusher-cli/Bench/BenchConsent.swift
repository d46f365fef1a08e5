internal import PusherCore
internal import PusherPlatform

/// Asks before another machine is loaded: services bill messages, and limit them.
enum BenchConsent {
  /// Returns `nil` to go on, or the status to end with.
  static func missing(_ settings: BenchSettings, _ diagnostics: Diagnostics) -> ExitStatus? {
    let host = settings.subscription.connection.host
    if settings.isConfirmed || isLocal(settings) { return nil }
    guard StandardDescriptors.isTerminal(0), StandardDescriptors.isTerminal(2) else {
      diagnostics.usage(
        UsageError(
          "bench would put load on \(host): \(words(settings)); give --yes if that is meant"))
      return .usage
    }
    diagnostics.answer("load \(host)? \(words(settings)) [y/N]")
    guard isYes(answer()) else {
      diagnostics.answer("nothing was sent")
      return .usage
    }
    return nil
  }

  /// True if sockets and calls go to this machine only.
  private static func isLocal(_ settings: BenchSettings) -> Bool {
    let hosts = [settings.subscription.connection.host, settings.api?.connection.host]
    return hosts.compactMap(\.self).allSatisfy(Loopback.contains)
  }

  /// Returns the load in words, with the number of messages.
  static func words(_ settings: BenchSettings) -> String {
    let load = settings.load
    let sockets = "\(BenchNumber.grouped(load.subscribers)) connections"
    guard settings.mode.sendsEvents else {
      return settings.mode == .storm ? "\(sockets), each made twice" : sockets
    }
    let plan = BenchPlan(settings)
    let events = plan.eventCount
    let receivers = load.subscribers / load.channels - (settings.mode == .client ? 1 : 0)
    let (deliveries, isHuge) = events.multipliedReportingOverflow(by: max(receivers, 1))
    let count = isHuge ? "more than 10^18" : BenchNumber.grouped(deliveries)
    return "\(sockets), \(BenchNumber.grouped(events)) events in \(load.time.inWords), "
      + "about \(count) messages to subscribers"
  }

  static func isYes(_ answer: String) -> Bool {
    ["y", "yes"].contains(answer.lowercased())
  }

  /// Reads one line of the terminal.
  private static func answer() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count < 64, unsafe read(0, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension BenchPlan {
  init(_ settings: BenchSettings) {
    self.init(settings.load, batch: settings.mode == .fanout ? nil : 1)
  }
}

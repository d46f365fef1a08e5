import PusherCore
import TestSupport

/// Faults of one connection in a random run: at the server, on the wire, or both.
struct FaultPlan: Sendable {
  enum ServerFault: Sendable {
    case none
    case refuse(Int)
    case silentUpgrade
    case leaveBeforeGreeting
    case neverConfirm
    case leaveBeforeConfirmation
    case close(UInt16)
    case drop
    case dropWithError(Int)
    case deaf
  }

  var fault = ServerFault.none
  /// Number of events before the server's fault.
  var events = Int.max
  var wire = FaultyWire.sound
  var deflates = false
  /// Order of the answers to the two subscriptions.
  var confirmation = Confirmation.inOrder

  enum Confirmation: Sendable, CaseIterable {
    case inOrder, reversed, twice
  }

  static let sound = FaultPlan()

  static func random(_ random: inout SeededGenerator) -> FaultPlan {
    var plan = FaultPlan()
    plan.deflates = random.below(3) == 0
    plan.confirmation = Confirmation.allCases[random.below(6) % 3]
    plan.events = random.below(8)
    switch random.below(100) {
    case 0..<40: plan.wire.cut = random.below(2) == 0 ? .reset : .end
    case 40..<43: plan.wire.cut = random.below(2) == 0 ? .blackHole : .halfOpen
    case 43..<65:
      let codes: [UInt16] = [
        4100, 4150, 4199, 4200, 4201, 4202, 4299, 4300, 4999, 1000, 1001, 1011,
      ]
      plan.fault = .close(codes[random.below(codes.count)])
    case 65..<78: plan.fault = .drop
    case 78..<86: plan.fault = .dropWithError([4100, 4200, 4201][random.below(3)])
    case 86..<88: plan.fault = .deaf
    case 88..<92: plan.fault = .refuse([500, 502, 503, 504, 429][random.below(5)])
    case 92: plan.fault = .silentUpgrade
    case 93..<96: plan.fault = .leaveBeforeGreeting
    case 96: plan.fault = .neverConfirm
    default: plan.fault = .leaveBeforeConfirmation
    }
    if plan.wire.cut != nil {
      // The head of the answer has about 130 bytes, greeting and confirmations 300; then events
      // follow.
      plan.wire.cutAfter = random.below(4) == 0 ? random.below(450) : 300 + random.below(2000)
      plan.events = .max
    }
    if random.below(8) == 0 { plan.wire.latency = .milliseconds(1 + random.below(8)) }
    if random.below(10) == 0 {
      plan.wire.piece = 20 + random.below(180)
      plan.wire.interval = .microseconds(20 + random.below(150))
    }
    return plan
  }

  func play(_ connection: ScriptedConnection, _ source: NumberedSource) throws {
    switch fault {
    case .refuse(let status):
      _ = try connection.request()
      return try connection.answer(status, "No")
    case .silentUpgrade:
      _ = try connection.request()
      try connection.stall()
    case .leaveBeforeGreeting:
      try connection.upgrade(deflate: deflates)
      return connection.drop()
    default: break
    }
    try connection.welcome(deflate: deflates)
    let asked = [try connection.subscription(), try connection.subscription()].map(\.channel)
    if case .neverConfirm = fault { try connection.ignore() }
    if case .leaveBeforeConfirmation = fault { return connection.drop() }
    // Later events belong to the subscription, as on a real server, however late this thread
    // continues.
    let first = source.last + 1
    let order = confirmation == .reversed ? Array(asked.reversed()) : asked
    for channel in confirmation == .twice ? order + order : order {
      try connection.send(
        event: "pusher_internal:subscription_succeeded", channel: channel, data: "{}")
    }
    try source.feed(connection, from: first, atMost: events)
    switch fault {
    case .close(let code): try connection.close(code: code, reason: "planned")
    case .dropWithError(let code):
      try connection.send(
        text: #"{"event":"pusher:error","data":{"code":\#(code),"message":"planned"}}"#)
    case .deaf: try connection.ignore()
    default: break
    }
    connection.drop()
  }
}

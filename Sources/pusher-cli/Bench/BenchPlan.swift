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

/// The calls of a run.
final class BenchTraffic {
  private let plan: BenchPlan
  private let loop: EventLoop
  private let sender: any BenchSender
  private let visitors: MemberSender?
  private let api: APISender?
  private var pacer: BenchPacer?

  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ settings: BenchSettings, _ fleet: BenchFleet, _ message: BenchMessage, _ sends: SendLedger,
    _ crew: BenchCrew
  ) throws {
    (plan, loop) = (sends.plan, crew.loop)
    var api: APISender?
    var visitors: MemberSender?
    if settings.mode == .client {
      // The first subscriber of each channel has the channel's number.
      let senders = Array(fleet.subscribers.prefix(sends.plan.channels))
      sender = ClientSender(senders, message, sends, loop: loop)
    } else if let access = settings.api {
      let calls = try APISender(settings, access, message, sends, loop: loop)
      (sender, api) = (calls, calls)
    } else {
      guard case .secret(let secret, _, _) = settings.subscription.authorization else {
        throw UsageError("the mode 'presence' needs the secret")
      }
      let members = try MemberSender(settings, secret: secret, message, sends, crew)
      (sender, visitors) = (members, members)
    }
    (self.api, self.visitors) = (api, visitors)
  }

  /// Called if the server does not accept the app's signature.
  var onRefusal: (() -> Void)? {
    get { api?.onRefusal }
    set { api?.onRefusal = newValue }
  }

  var isReady: Bool { visitors?.isReady ?? true }

  /// Channels of the mode `presence` whose visitor lost its connection.
  var closedVisitors: [String] { visitors?.closedVisitors ?? [] }

  /// Starts the plan.
  func begin(at begin: Instant) { pacer = BenchPacer(plan, from: begin, sender, loop: loop) }

  /// True if every call was handed to the network.
  var isDone: Bool { pacer?.isDone ?? false }
  /// True if no call waits for an answer.
  var isIdle: Bool { sender.isIdle }

  /// Sends no more; calls without an answer count as failed.
  func stop() {
    pacer?.stop()
    sender.stop()
  }

  func close() { sender.close() }
}

/// The text of an event, and its reading from a message of the server.
///
/// The data is `{"bench":"~RUN.CHANNEL.NUMBER.TIME~TEXT"}`: the run's name, the number of the
/// channel and of the event, the intended time in microseconds after the beginning, and a known
/// text up to the wanted size. No character of the value needs an escape in JSON, so it can be
/// read without a parser, however often the servers on the way have wrapped it.
struct BenchMessage {
  /// An event as a message names it; the plan decides whether there is such an event.
  struct Name: Equatable {
    var channel: Int
    var number: Int
    /// Intended time, in microseconds after the beginning.
    var microseconds: Int
  }

  enum Reading: Equatable {
    /// No event of this run.
    case foreign
    /// The text of the event is not what was sent.
    case wrong
    case event(Name)
    /// A member of the mode `presence` came or left.
    case member(Name, hasLeft: Bool)
  }

  private static let mark = UInt8(ascii: "~")
  private static let alphabet = Array(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)
  /// Bytes around the value: `{"bench":"` and `"}`.
  private static let frame = 12
  /// Digits of a number that fits without an overflow.
  private static let mostDigits = 15

  private let run: [UInt8]
  private let size: Int
  /// True in the mode `presence`, whose labels are user ids.
  private let readsMembers: Bool
  /// The alphabet again and again, long enough for a text that begins at any letter.
  private let letters: ByteBuffer

  /// - Parameters:
  ///   - run: Name of the run, of letters and digits, which keeps other runs apart.
  ///   - size: Size of an event's data, in bytes.
  ///   - readsMembers: Labels are user ids, in news about members.
  init(run: String, size: Int, readsMembers: Bool = false) {
    self.run = Array(run.utf8)
    (self.size, self.readsMembers) = (size, readsMembers)
    letters = ByteBuffer(capacity: size + Self.alphabet.count)
    while letters.count < size + Self.alphabet.count { letters.append(Self.alphabet) }
  }

  // MARK: Writing

  /// Returns `~RUN.CHANNEL.NUMBER.TIME~`, which is also the user id of a member.
  func label(_ name: Name) -> String {
    "~\(String(decoding: run, as: UTF8.self)).\(name.channel).\(name.number).\(name.microseconds)~"
  }

  /// Returns the value of the data without its frame.
  func value(_ name: Name) -> String {
    let label = label(name)
    let count = textLength(after: label.utf8.count)
    let start = Self.start(of: name)
    return withExtendedLifetime(letters) { label + letters.view[start..<(start + count)].text }
  }

  func data(_ name: Name) -> JSONValue { ["bench": .string(value(name))] }

  private func textLength(after label: Int) -> Int { max(size - Self.frame - label, 0) }

  /// Each event begins at another letter, so that a mix of two events is recognised.
  private static func start(of name: Name) -> Int { name.number % alphabet.count }

  // MARK: Reading

  /// Reads a whole message of the server.
  ///
  /// - Parameter isData: True for the data alone, of an event that was decrypted.
  func read(_ message: ByteView, isData: Bool = false) -> Reading {
    var from = 0
    while let start = message.firstIndex(of: Self.mark, from: from) {
      from = start + 1
      guard let (name, end) = name(in: message, from: from) else { continue }
      return reading(of: name, in: message, label: (from - 1)..<end, isData)
    }
    return .foreign
  }

  private func reading(
    of name: Name, in message: ByteView, label: Range<Int>, _ isData: Bool
  ) -> Reading {
    // A server that cuts a message leaves no object.
    guard message[message.count - 1] == UInt8(ascii: "}"), label.upperBound < message.count else {
      return .wrong
    }
    if readsMembers { return news(of: name, message[0..<label.lowerBound]) }
    let end = label.upperBound + textLength(after: label.count)
    let start = Self.start(of: name)
    guard end < message.count else { return .wrong }
    let text = message[label.upperBound..<end]
    let isRight = withExtendedLifetime(letters) {
      text.begins(with: letters.view[start..<(start + text.count)])
    }
    let rest = message[end..<message.count]
    let isClosed = isData ? rest.equals("\"}") : Self.closes(rest)
    return isRight && isClosed ? .event(name) : .wrong
  }

  /// Returns whether the object of the data ends here, inside a string or inside the message.
  private static func closes(_ rest: ByteView) -> Bool {
    rest.begins(with: "\\\"}\"") || rest.begins(with: "\"}") && rest.count > 2
  }

  /// - Parameter head: The message up to the label.
  private func news(of name: Name, _ head: ByteView) -> Reading {
    if head.has("member_added") { return .member(name, hasLeft: false) }
    if head.has("member_removed") { return .member(name, hasLeft: true) }
    // The list of members in the answer to a subscription is no news.
    return .foreign
  }

  /// Returns the name after a mark, and the place after its last byte; `nil` if it is no label.
  private func name(in message: ByteView, from start: Int) -> (name: Name, end: Int)? {
    guard start + run.count < message.count,
      message[start..<(start + run.count)].equals(run)
    else { return nil }
    var place = start + run.count
    var numbers = [0, 0, 0]
    for index in numbers.indices {
      guard place < message.count, message[place] == UInt8(ascii: ".") else { return nil }
      place += 1
      let first = place
      while place < message.count, message[place] &- 0x30 < 10 {
        guard place - first < Self.mostDigits else { return nil }
        numbers[index] = numbers[index] * 10 + Int(message[place] &- 0x30)
        place += 1
      }
      guard place > first else { return nil }
    }
    guard place < message.count, message[place] == Self.mark else { return nil }
    let name = Name(channel: numbers[0], number: numbers[1], microseconds: numbers[2])
    return (name, place + 1)
  }
}

extension ByteView {
  /// The needle must be short.
  func has(_ needle: StaticString) -> Bool {
    let length = needle.utf8CodeUnitCount
    guard count >= length else { return false }
    for start in 0...(count - length) where self[start..<count].begins(with: needle) { return true }
    return false
  }
}

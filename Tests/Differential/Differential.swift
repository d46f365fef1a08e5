import PusherCore
import PusherLines
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Compares the fast paths with the general path on generated messages: lines and parts must agree.
///
/// Arguments: number of messages, and the seed. A difference ends the run with status 1. The counts
/// at the end show that both paths had enough to do.
@main
enum Differential {
  static func main() {
    let words = CommandLine.arguments.dropFirst().compactMap(UInt64.init)
    guard words.count == 2 else {
      print("usage: differential COUNT SEED")
      exit(2)
    }
    var random = SeededGenerator(seed: words[1])
    let rig = Rig()
    var checked: UInt64 = 0
    while checked < words[0] {
      for message in messages(&random) {
        guard rig.agrees(message, &random) else {
          print("differential: seed \(words[1]), message \(checked): \(message)")
          print(String(decoding: message, as: UTF8.self))
          exit(1)
        }
        checked += 1
      }
    }
    print(
      "differential: \(checked) messages agree: \(rig.taken) by the fast path, \(rig.declined) by the general one alone, "
        + "\(rig.refused) are no messages; parts of \(rig.read) by the fast path")
    let isEnough = rig.taken > checked / 10 && rig.refused > checked / 100
    exit(isEnough && rig.read > checked / 10 ? 0 : 1)
  }

  /// Some messages that belong together: one as servers write it, and others with damage.
  private static func messages(_ random: inout SeededGenerator) -> [[UInt8]] {
    if random.below(16) == 0 {
      let message = RandomMessage(&random)
      return [message.bytes] + (0..<7).map { _ in message.mutated(&random) }
    }
    var value = RandomBody(random)
    let whole = value.message()
    random = value.random
    return [whole] + (0..<3).map { _ in damaged(whole, &random) }
  }

  /// The message with one ASCII byte changed, put in or taken out.
  private static func damaged(_ message: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = message
    let place = 30 + random.below(bytes.count - 30)
    guard bytes[place] < 0x80 else { return bytes }
    let byte = random.pick(alphabet)
    switch random.below(3) {
    case 0: bytes[place] = byte
    case 1: bytes.insert(byte, at: place)
    default: bytes.remove(at: place)
    }
    return bytes
  }

  private static let alphabet = Array(#"\\\""{}[],:  019eE+-.tfnu/x"#.utf8) + [0, 0x0A, 0x1F, 0x7F]
}

/// Messages of the usual shape around JSON, written token by token: faster than a tree of values.
private struct RandomBody {
  var random: SeededGenerator
  private var bytes: [UInt8] = []
  private let blanks: Int

  private static let scalars: [[UInt8]] = [
    "true", "false", "null", "0", "-0", "7", "-1", "1.10", "100.5", "0.001", "1e5", "-1.5E+3",
    "2e-7", "12345678", "1763863232123", "12345678901234567890", "0.12345678901234567", #"\"\""#,
    #"\"ACME\""#, #"\"sell\""#,
  ].map { Array($0.utf8) }
  private static let pieces: [[UInt8]] = [
    "a", "bid", "the rest stands until the close; ", "é", "中文", "😀", #"\\n"#, #"\\\""#, #"\\\\"#,
    #"\/"#, #"\\\/"#, #"\\u00e9"#, #"\\ud83d\\ude00"#, "{}[],:", "0123456789", "\u{7F}",
  ].map { Array($0.utf8) }

  init(_ random: SeededGenerator) {
    self.random = random
    var own = random
    // Most write no blanks, some write them behind commas and colons, a few anywhere.
    blanks = own.pick([0, 0, 0, 1, 2])
  }

  mutating func message() -> [UInt8] {
    let isDataLast = random.below(4) > 0
    bytes = Array(#"{"event":"price.updated","#.utf8)
    if isDataLast { put(#""channel":"bench","#) }
    put(#""data":""#)
    value(depth: random.below(6))
    put("\"")
    if !isDataLast { put(#","channel":"bench""#) }
    put("}")
    return bytes
  }

  private mutating func put(_ text: String) { bytes += Array(text.utf8) }

  private mutating func blank(_ isUsual: Bool) {
    if blanks == 1 && isUsual || blanks == 2 && random.below(3) == 0 { bytes.append(0x20) }
  }

  private mutating func value(depth: Int) {
    let kind = depth == 0 ? random.below(4) : 4 + random.below(4)
    switch kind {
    case 0, 1, 2: bytes += random.pick(Self.scalars)
    case 3: string()
    default:
      let isObject = kind < 7
      put(isObject ? "{" : "[")
      for index in 0..<random.below(6) {
        if index > 0 {
          put(",")
          blank(true)
        }
        if isObject {
          string()
          blank(false)
          put(":")
          blank(true)
        }
        value(depth: random.below(depth))
        blank(false)
      }
      put(isObject ? "}" : "]")
    }
  }

  private mutating func string() {
    put(#"\""#)
    switch random.below(4) {
    case 0: bytes += random.some(Self.pieces, most: 4).joined()
    case 1: bytes += [UInt8](repeating: 0x78, count: random.below(100))
    default: bytes += [UInt8](repeating: 0x6E, count: random.below(12))
    }
    put(#"\""#)
  }
}

/// Both ways to a line.
private final class Rig {
  private let guarded = GuardedBytes(room: 1 << 16)
  private let fastOutput = ByteBuffer(capacity: 1 << 16)
  private let generalOutput = ByteBuffer(capacity: 1 << 16)
  private let mixedOutput = ByteBuffer(capacity: 1 << 16)
  private let fast: LineMaker
  private let general: LineMaker
  /// Writes member by member, and the data in one pass.
  private let mixed: LineMaker
  private(set) var taken: UInt64 = 0
  private(set) var declined: UInt64 = 0
  private(set) var refused: UInt64 = 0
  private let reader = PlainEventReader(protocolPrefix: "pusher")
  private let data = ByteBuffer(capacity: 1 << 16)
  private let plain = ByteBuffer(capacity: 1 << 16)
  /// Of how many messages the fast path has found the parts.
  private(set) var read: UInt64 = 0

  init() {
    fast = LineMaker(output: fastOutput, service: .pusher)
    general = LineMaker(output: generalOutput, service: .pusher, usesFastWay: false)
    mixed = LineMaker(output: mixedOutput, service: .pusher)
  }

  /// Returns whether the fast path writes nothing, or the line of the general path; the message
  /// stands before a guard page.
  func agrees(_ message: [UInt8], _ random: inout SeededGenerator) -> Bool {
    guard message.count < 1 << 15 else { return true }
    let distance = random.below(32)
    let view =
      random.below(4) > 0
      ? guarded.view(message, beforeEnd: distance) : guarded.view(message, afterStart: distance)
    guard agreesOnParts(view) else { return false }
    fastOutput.removeAll()
    generalOutput.removeAll()
    mixedOutput.removeAll()
    let outcome = fast.writeFast(view, filter: nil)
    guard let envelope = try? Envelope(view) else {
      refused += 1
      return outcome == .unusual && fastOutput.isEmpty
    }
    general.write(envelope)
    mixed.write(envelope)
    guard same(mixedOutput.view, generalOutput.view) else { return false }
    guard outcome == .written else {
      declined += 1
      return fastOutput.isEmpty
    }
    taken += 1
    return same(fastOutput.view, generalOutput.view)
  }

  /// True if the fast path finds the names and the data that the general one finds, or nothing.
  private func agreesOnParts(_ view: ByteView) -> Bool {
    guard let parts = reader.read(view, buffer: data) else { return true }
    guard let envelope = try? Envelope(view), let text = envelope.dataString,
      let channel = envelope.channelToken
    else { return false }
    read += 1
    plain.removeAll()
    JSONString.decode(text, into: plain)
    guard same(parts.data, plain.view), same(parts.event, envelope.eventToken),
      same(parts.channel, channel)
    else { return false }
    guard parts.head > 0 else { return true }
    guard let data = reader.data(of: view, behind: parts.head, buffer: data) else { return false }
    return same(data, plain.view)
  }

  private func same(_ one: ByteView, _ other: ByteView) -> Bool {
    one.count == other.count && memcmp(one.base, other.base, one.count) == 0
  }
}

import PusherCore
import PusherLines
import TestSupport

/// The harnesses; each takes the bytes of a peer and ends the process at a finding.
package enum Harness: String, CaseIterable, Sendable {
  case eventstream, fields, frames, http, lines, proxies, records, server, session, `where`

  @discardableResult
  package func run(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    body(start, count)
  }

  private var body: (UnsafePointer<UInt8>, Int) -> CInt {
    switch self {
    case .eventstream: fuzzEventStream
    case .fields: fuzzFields
    case .frames: fuzzFrames
    case .http: fuzzHTTP
    case .lines: fuzzLines
    case .proxies: fuzzProxies
    case .records: fuzzRecords
    case .server: fuzzServer
    case .session: fuzzSession
    case .`where`: fuzzWhere
    }
  }
}

/// The harness of a fuzzing program, which has its name.
nonisolated(unsafe) private var chosen: Harness?

/// Called by libFuzzer first.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
  _ count: UnsafePointer<CInt>,
  _ words: UnsafePointer<UnsafePointer<UnsafePointer<CChar>>>
) -> CInt {
  let path = String(cString: words.pointee.pointee)
  chosen = path.split(separator: "/").last.flatMap { Harness(rawValue: String($0)) }
  precondition(chosen != nil, "no harness has the name of this program: \(path)")
  return 0
}

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func runChosen(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  chosen?.run(start, count) ?? 0
}

/// Ends the run with a finding; the fuzzer then keeps the input.
func finding(_ what: @autoclosure () -> String) -> Never {
  fatalError("finding: \(what())")
}

/// Requires strict JSON; `what` names the bytes.
func requireJSON(_ bytes: [UInt8], _ what: @autoclosure () -> String) {
  if let problem = StrictJSON.problem(in: bytes) {
    finding("\(what()) that is no JSON (\(problem)): \(text(bytes))")
  }
}

/// Requires a text without control characters, which could change a terminal.
func requireTame(_ text: String, _ place: String) {
  let isTame = text.unicodeScalars.allSatisfy {
    $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
  }
  require(isTame, "a control character \(place): \(text)")
}

func require(_ condition: Bool, _ what: @autoclosure () -> String) {
  if !condition { finding(what()) }
}

/// One input of the fuzzer, read from the front: first some choices, then bytes of a peer.
struct FuzzInput {
  private(set) var rest: ArraySlice<UInt8>

  init(_ start: UnsafePointer<UInt8>, _ count: Int) {
    rest = Array(UnsafeBufferPointer(start: start, count: count))[...]
  }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Returns the first two bytes of an input: choices, and a seed that cuts the peer's bytes.
  mutating func choicesAndCut() -> (choices: UInt8, cut: UInt8) { (byte(), byte()) }

  var bytes: [UInt8] { Array(rest) }
}

/// A scenario that runs step by step; each line is a step.
protocol Walk {
  init(options: UInt8)
  /// Runs a step; the line's first letter names it.
  mutating func step(_ line: ArraySlice<UInt8>)
  mutating func finish()
}

extension FuzzInput {
  /// Runs a scenario: a byte of options, then one step a line, 300 at most.
  mutating func take<W: Walk>(_ walk: W.Type) {
    var walk = W(options: byte())
    for line in bytes.split(separator: 0x0A).prefix(300) { walk.step(line) }
    walk.finish()
  }
}

/// Cuts bytes into pieces like a network, by a seed: single bytes for 0.
func pieces(of bytes: [UInt8], cut seed: UInt8) -> [[UInt8]] {
  var random = SeededGenerator(seed: UInt64(seed))
  return seed == 0 ? bytes.map { [$0] } : random.pieces(of: bytes, most: 300)
}

func text(_ bytes: some Sequence<UInt8>) -> String {
  String(decoding: Array(bytes), as: UTF8.self)
}

/// Prints events of a stream by the fast way and by the general one, and compares the lines.
final class StreamLines {
  private let fast = ByteBuffer()
  private let general = ByteBuffer()
  private let styled = ByteBuffer()
  private let style: EventLineStyle
  private let fastMaker: LineMaker
  private let generalMaker: LineMaker

  init(forTerminal: Bool) {
    style = EventLineStyle(forTerminal: forTerminal)
    fastMaker = LineMaker(output: fast, service: nil)
    generalMaker = LineMaker(output: general, service: nil, usesFastWay: false)
  }

  /// Requires the same line by both ways, one JSON value, and an event that is left as it was.
  func check(_ event: EventStreamEvent) {
    let before = event.data.array
    fast.removeAll()
    general.removeAll()
    fastMaker.write(event)
    generalMaker.write(event)
    require(fast.array == general.array, "\(text(fast.array)) instead of \(text(general.array))")
    require(event.data.array == before, "the input has changed")
    styled.removeAll()
    style.write(EventLine(fast.view), to: styled)
    for line in [fast, styled] { requireJSON(line.array.dropLast(), "a line") }
  }
}

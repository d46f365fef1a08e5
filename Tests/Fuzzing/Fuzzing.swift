import PusherCore

/// Ends the run with a finding; the fuzzer then keeps the input.
func finding(_ what: @autoclosure () -> String) -> Never {
  fatalError("finding: \(what())")
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

/// Cuts bytes into pieces like a network, by a seed: often single bytes, sometimes long pieces.
struct Chunks {
  private var random: SeededGenerator
  private let isBytewise: Bool

  init(seed: UInt8) {
    random = SeededGenerator(seed: UInt64(seed))
    isBytewise = seed == 0
  }

  /// Calls `body` with each piece in order, until it returns `false`.
  mutating func each(of bytes: [UInt8], _ body: ([UInt8]) -> Bool) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let most = Bool.random(using: &random) ? 3 : 300
      let count = isBytewise ? 1 : Int.random(in: 1...most, using: &random)
      guard body(Array(rest.prefix(count))) else { return }
      rest = rest.dropFirst(count)
    }
  }
}

func text(_ bytes: some Sequence<UInt8>) -> String {
  String(decoding: Array(bytes), as: UTF8.self)
}

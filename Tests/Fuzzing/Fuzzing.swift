import PusherCore

/// Ends the run with what is wrong; the fuzzer then keeps the input that led here.
func finding(_ what: @autoclosure () -> String) -> Never {
  fatalError("finding: \(what())")
}

/// Ends the run unless `condition` holds.
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
  if !condition { finding(what()) }
}

/// One input of the fuzzer, read from the front: first some choices, then bytes from a peer.
struct FuzzInput {
  private(set) var rest: ArraySlice<UInt8>

  init(_ start: UnsafePointer<UInt8>, _ count: Int) {
    rest = Array(UnsafeBufferPointer(start: start, count: count))[...]
  }

  /// The next byte; 0 when there is none.
  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// The start of an input of cut bytes: a byte of choices, a byte that cuts, and then what a peer sends.
  mutating func choicesAndCut() -> (choices: UInt8, cut: UInt8) { (byte(), byte()) }

  /// What is left.
  var bytes: [UInt8] { Array(rest) }
}

/// Something that happens step by step, each told by a line.
protocol Walk {
  init(options: UInt8)
  /// Takes a step; the line's first letter tells which.
  mutating func step(_ line: ArraySlice<UInt8>)
  /// Checks what must be so at the end.
  mutating func finish()
}

extension FuzzInput {
  /// Takes a walk: a byte of options, then one step a line, 300 at most.
  mutating func take<W: Walk>(_ walk: W.Type) {
    var walk = W(options: byte())
    for line in bytes.split(separator: 0x0A).prefix(300) { walk.step(line) }
    walk.finish()
  }
}

/// Cuts bytes into pieces as a network might, by a seed: single bytes often, long pieces sometimes.
struct Chunks {
  private var random: SeededGenerator
  private let isBytewise: Bool

  init(seed: UInt8) {
    random = SeededGenerator(seed: UInt64(seed))
    isBytewise = seed == 0
  }

  /// Calls `body` with each piece in order, until it answers `false`.
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

/// Bytes as text, with what is not UTF-8 replaced.
func text(_ bytes: some Sequence<UInt8>) -> String {
  String(decoding: Array(bytes), as: UTF8.self)
}

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

  /// What is left.
  var bytes: [UInt8] { Array(rest) }
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

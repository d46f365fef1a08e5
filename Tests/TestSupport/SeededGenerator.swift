/// A generator of random numbers from a seed (SplitMix64), so that a failing run can be repeated.
public struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  /// Creates a generator; equal seeds give equal numbers.
  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// Returns a number from 0 to below `limit`.
  public mutating func below(_ limit: Int) -> Int {
    Int(next() % UInt64(limit))
  }

  /// Returns one of the elements.
  package mutating func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element
  where Choices.Index == Int {
    choices[choices.startIndex + below(choices.count)]
  }

  /// Returns up to `most` of the elements, in any order and repeated.
  package mutating func some<Choices: RandomAccessCollection>(
    _ choices: Choices, most: Int
  ) -> [Choices.Element] where Choices.Index == Int {
    (0..<below(most + 1)).map { _ in pick(choices) }
  }

  /// Cuts bytes into pieces, as a network does: often a few bytes, sometimes up to `most`.
  package mutating func pieces(of bytes: [UInt8], most: Int) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      pieces.append(Array(rest.prefix(1 + below(below(2) == 0 ? 3 : most))))
      rest = rest.dropFirst(pieces[pieces.count - 1].count)
    }
    return pieces
  }
}

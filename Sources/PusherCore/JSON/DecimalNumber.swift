/// A JSON number, compared by its exact value: `1`, `1.0` and `10e-1` are equal.
///
/// Binary fractions would make neighbours of large IDs equal, and have no value for `1e400`.
struct DecimalNumber: Sendable {
  /// -1, 0 or 1.
  private let sign: Int
  /// The magnitude is 0.DIGITS times ten to this power.
  private let exponent: Int
  /// Digits without zeros at either end; none for zero.
  private let digits: [UInt8]
  /// The value of an integer of few digits, written without an exponent.
  private let integer: Int?

  /// Maximum number of digits, with a sign, that are compared as an integer.
  private static let integerDigits = 18

  /// - Parameter text: A valid JSON number.
  init(_ text: ByteView) {
    let parts = Reading(text)
    (sign, exponent) = (parts.sign, parts.exponent)
    var digits = text[parts.digits].array.filter { $0 != UInt8(ascii: ".") }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    self.digits = digits
    integer = Self.integer(text)
  }

  /// Returns the order of a JSON number and this one: -1 below, 0 equal, 1 above.
  func order(of text: ByteView) -> Int {
    if let integer, let other = Self.integer(text) {
      return other < integer ? -1 : other > integer ? 1 : 0
    }
    let parts = Reading(text)
    guard parts.sign == sign else { return parts.sign < sign ? -1 : 1 }
    guard sign != 0 else { return 0 }
    guard parts.exponent == exponent else { return parts.exponent < exponent ? -sign : sign }
    return sign * magnitudeOrder(of: text[parts.digits])
  }

  /// Returns `nil` for a number with a point, an exponent or many digits.
  @inline(__always) private static func integer(_ text: ByteView) -> Int? {
    let isNegative = text[0] == UInt8(ascii: "-")
    guard text.count <= integerDigits else { return nil }
    var value = 0
    var index = isNegative ? 1 : 0
    while index < text.count {
      let digit = unsafe text.base[index] &- 0x30
      guard digit < 10 else { return nil }
      value = value &* 10 &+ Int(truncatingIfNeeded: digit)
      index &+= 1
    }
    return isNegative ? -value : value
  }

  /// Compares digits from the first one that is not zero; the exponents are equal.
  private func magnitudeOrder(of other: ByteView) -> Int {
    var place = 0
    for index in 0..<other.count where other[index] != UInt8(ascii: ".") {
      let digit = place < digits.count ? digits[place] : UInt8(ascii: "0")
      guard other[index] == digit else { return other[index] < digit ? -1 : 1 }
      place += 1
    }
    return place < digits.count ? -1 : 0
  }

  private struct Reading {
    private(set) var sign = 0
    private(set) var exponent = 0
    /// From the first digit that is not zero to the last digit, with the point between them.
    private(set) var digits = 0..<0

    /// Larger exponents count as this one, so that no sum overflows.
    private static let largestExponent = 1 << 50

    init(_ text: ByteView) {
      let isNegative = !text.isEmpty && text[0] == UInt8(ascii: "-")
      var index = isNegative ? 1 : 0
      var first: Int?
      var isFraction = false
      while index < text.count, text[index] | 0x20 != UInt8(ascii: "e") {
        if text[index] == UInt8(ascii: ".") {
          isFraction = true
        } else if first == nil, text[index] == UInt8(ascii: "0") {
          if isFraction { exponent -= 1 }
        } else {
          first = first ?? index
          if !isFraction { exponent += 1 }
        }
        index += 1
      }
      guard let first else {
        exponent = 0
        return
      }
      sign = isNegative ? -1 : 1
      digits = first..<index
      if index < text.count { exponent += Self.power(text[(index + 1)..<text.count]) }
    }

    /// Reads the digits after `e`, with their sign.
    private static func power(_ text: ByteView) -> Int {
      let isNegative = !text.isEmpty && text[0] == UInt8(ascii: "-")
      var power = 0
      for index in 0..<text.count where text[index] &- 0x30 < 10 {
        power = min(power * 10 + Int(text[index] - 0x30), largestExponent)
      }
      return isNegative ? -power : power
    }
  }
}

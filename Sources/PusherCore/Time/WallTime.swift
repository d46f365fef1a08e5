/// A moment of the calendar in UTC, to the millisecond.
public struct WallTime: Sendable, Hashable {
  /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
  public var millisecondsSince1970: Int64

  /// Makes a moment from the milliseconds since 1970-01-01T00:00:00Z.
  public init(millisecondsSince1970: Int64) { self.millisecondsSince1970 = millisecondsSince1970 }

  package var secondsSince1970: Int64 { Self.floorDivide(millisecondsSince1970, by: 1000).quotient }

  package static let textLength = 24

  /// The time in the form of RFC 3339 section 5.6: `2026-11-21T01:39:31.121Z`.
  ///
  /// Years outside 0 to 9999 give the nearest time that the format can hold.
  public var rfc3339: String {
    unsafe String(unsafeUninitializedCapacity: Self.textLength) { output in
      guard let start = output.baseAddress else { return 0 }
      unsafe write(to: start)
      return Self.textLength
    }
  }

  /// Writes ``rfc3339`` to ``textLength`` bytes at `output`, without an allocation.
  package func write(to output: UnsafeMutablePointer<UInt8>) {
    let clamped = min(max(millisecondsSince1970, -62_167_219_200_000), 253_402_300_799_999)
    let (days, ofDay) = Self.floorDivide(clamped, by: 86_400_000)
    let (year, month, day) = Self.date(daysSince1970: days)
    var position = 0
    func put(_ value: Int64, digits: Int, then separator: Unicode.Scalar) {
      var rest = value
      for index in stride(from: digits - 1, through: 0, by: -1) {
        unsafe output[position + index] = UInt8(0x30 + rest % 10)
        rest /= 10
      }
      unsafe output[position + digits] = UInt8(ascii: separator)
      position += digits + 1
    }
    put(year, digits: 4, then: "-")
    put(month, digits: 2, then: "-")
    put(day, digits: 2, then: "T")
    put(ofDay / 3_600_000, digits: 2, then: ":")
    put(ofDay / 60_000 % 60, digits: 2, then: ":")
    put(ofDay / 1000 % 60, digits: 2, then: ".")
    put(ofDay % 1000, digits: 3, then: "Z")
  }

  /// Returns the proleptic Gregorian date; counts years from March, so that a leap day comes last.
  private static func date(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
    // 719,468 days lie between 0000-03-01 and 1970-01-01; 400 years are 146,097 days.
    let (era, ofEra) = floorDivide(daysSince1970 + 719_468, by: 146_097)
    let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * ofYear + 2) / 153
    let day = ofYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
  }

  /// Returns the days from 1970-01-01 to a proleptic Gregorian date; months and days count from 1.
  package static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    let fromMarch = month > 2 ? year : year - 1
    let (era, yearOfEra) = floorDivide(fromMarch, by: 400)
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear - 719_468
  }

  private static func floorDivide(_ value: Int64, by divisor: Int64)
    -> (quotient: Int64, remainder: Int64)
  {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

extension WallTime {
  /// Parses RFC 3339 section 5.6, with a fraction of any length and an offset or `Z`.
  ///
  /// Drops digits below a millisecond. `nil` for another form or an impossible day.
  package init?(rfc3339 text: String) {
    let bytes = Array(text.utf8)
    guard (20...64).contains(bytes.count), let year = Self.number(bytes[0..<4]),
      let month = Self.number(bytes[5..<7]), let day = Self.number(bytes[8..<10]),
      let clock = Self.clock(bytes[11..<19]), bytes[4] == 0x2D, bytes[7] == 0x2D,
      bytes[10] | 0x20 == UInt8(ascii: "t")
    else { return nil }
    let days = Self.daysSince1970(year: year, month: month, day: day)
    guard Self.date(daysSince1970: days) == (year, month, day) else { return nil }
    var rest = bytes[19...]
    var milliseconds: Int64 = 0
    if rest.first == UInt8(ascii: ".") {
      let fraction = rest.dropFirst().prefix { $0 &- 0x30 < 10 }
      guard let value = Self.number(Array((fraction + [0x30, 0x30]).prefix(3))[...]),
        !fraction.isEmpty
      else { return nil }
      milliseconds = value
      rest = rest.dropFirst(1 + fraction.count)
    }
    guard let offset = Self.offset(rest) else { return nil }
    self.init(millisecondsSince1970: (days * 86_400 + clock - offset) * 1000 + milliseconds)
  }

  /// Parses `HH:MM:SS` into seconds; accepts a leap second.
  private static func clock(_ text: ArraySlice<UInt8>) -> Int64? {
    let parts = text.split(separator: 0x3A, omittingEmptySubsequences: false).map(number)
    guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
      text.count == 8, hour < 24, minute < 60, second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }

  /// Parses `Z`, `+HH:MM` or `-HH:MM` into seconds.
  private static func offset(_ text: ArraySlice<UInt8>) -> Int64? {
    guard let sign = text.first else { return nil }
    if sign | 0x20 == UInt8(ascii: "z") { return text.count == 1 ? 0 : nil }
    let seconds = clock(text.dropFirst() + [0x3A, 0x30, 0x30])
    switch sign {
    case UInt8(ascii: "+"): return seconds
    case UInt8(ascii: "-"): return seconds.map { -$0 }
    default: return nil
    }
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  package func advanced(by duration: Duration) -> WallTime {
    WallTime(millisecondsSince1970: millisecondsSince1970 + duration.wholeNanoseconds / 1_000_000)
  }
}

/// Reads the quantities people type: times and sizes.
enum Quantities {
  /// A positive time: `500ms`, `30s`, `5m`, `2h`, `1h30m`, `1.5s`; a bare number is seconds.
  ///
  /// Units come from large to small, each at most once. Nil for anything else and for more than ten years.
  static func duration(_ text: String) -> Duration? {
    let units = [
      ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000),
    ]
    let limit = 10 * 365 * 24 * 3_600_000_000_000
    var rest = Substring(text)
    var total = 0
    var nextUnit = 0
    while !rest.isEmpty {
      let number = rest.prefix { $0 == "." || ("0"..."9").contains($0) }
      rest = rest.dropFirst(number.count)
      let unit = rest.prefix { $0.isLetter }
      rest = rest.dropFirst(unit.count)
      let isBare = unit.isEmpty && total == 0 && rest.isEmpty
      guard let index = units.firstIndex(where: { $0.0 == (isBare ? "s" : String(unit)) }),
        index >= nextUnit, let scaled = scale(number, by: units[index].1), scaled <= limit
      else { return nil }
      nextUnit = index + 1
      total += scaled
    }
    return total > 0 && total <= limit ? .nanoseconds(total) : nil
  }

  /// A number of bytes: `65536`, `64k`, `16M`, `1G`, the letters being powers of 1024 in either case.
  static func size(_ text: String) -> Int? {
    let digits = text.prefix { ("0"..."9").contains($0) }
    let factor: Int
    switch text.dropFirst(digits.count).lowercased() {
    case "": factor = 1
    case "k": factor = 1 << 10
    case "m": factor = 1 << 20
    case "g": factor = 1 << 30
    default: return nil
    }
    guard let number = Int(digits) else { return nil }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
    return overflow ? nil : bytes
  }

  /// A number of bytes as people say it: in the largest unit that divides it.
  static func words(size bytes: Int) -> String {
    // One after the other: of a loop over the units the compiler of Swift 6.3 makes other code from run to run.
    if divides(bytes, 1 << 30) { return "\(bytes >> 30) GiB" }
    if divides(bytes, 1 << 20) { return "\(bytes >> 20) MiB" }
    if divides(bytes, 1 << 10) { return "\(bytes >> 10) KiB" }
    return "\(bytes) bytes"
  }

  private static func divides(_ bytes: Int, _ unit: Int) -> Bool {
    bytes >= unit && bytes % unit == 0
  }

  /// A number of things as people say it: `1 call`, `2 calls`.
  static func words(_ count: Int, of thing: String) -> String {
    "\(count) \(thing)\(count == 1 ? "" : "s")"
  }

  /// A whole number written in digits alone.
  static func integer(_ text: String) -> Int? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
  }

  /// `number × unit` for a decimal number with up to nine places; nil when it is malformed or does not fit.
  private static func scale(_ number: Substring, by unit: Int) -> Int? {
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = Int(parts[0]) else { return nil }
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: unit)
    guard !overflow else { return nil }
    guard parts.count == 2 else { return scaled }
    let places = parts[1]
    guard (1...9).contains(places.count), var fraction = Int(places) else { return nil }
    for _ in places.count..<9 { fraction *= 10 }
    let part = unit / 1_000_000 * fraction / 1_000
    return scaled.addingReportingOverflow(part).overflow ? nil : scaled + part
  }
}

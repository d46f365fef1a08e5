internal import PusherCore
internal import PusherLines

enum Quantities {
  /// Parses a positive time: `500ms`, `30s`, `5m`, `2h`, `1h30m`, `1.5s`; a bare number is in
  /// seconds.
  ///
  /// Units go from large to small, each at most once. Ten years are the maximum.
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

  /// Parses a size: `65536`, `64k`, `16M`, `1G`; the letters are powers of 1024 in either case.
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

  static func words(size bytes: Int) -> String {
    for (name, unit) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    where bytes >= unit && bytes % unit == 0 {
      return "\(bytes / unit) \(name)"
    }
    return "\(bytes) bytes"
  }

  /// Lists the first three names, and counts the others.
  static func listed(_ names: [String]) -> String {
    let more = names.count > 3 ? " and \(names.count - 3) more" : ""
    return names.prefix(3).joined(separator: ", ") + more
  }

  static func words(_ count: Int, of thing: String) -> String {
    TerminalText.words(count, of: thing)
  }

  /// Writes a number with at most `places` decimal places.
  static func text(_ value: Double, places: Int = 3) -> String {
    guard value.isFinite, value.magnitude < 1e15 else { return value.isFinite ? "\(value)" : "0" }
    var factor = 1.0
    for _ in 0..<places { factor *= 10 }
    let scaled = Int((value.magnitude * factor).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    let (whole, rest) = scaled.quotientAndRemainder(dividingBy: Int(factor))
    guard rest > 0 else { return "\(sign)\(whole)" }
    var digits = String(rest + Int(factor)).dropFirst()
    while digits.utf8.last == UInt8(ascii: "0") { digits = digits.dropLast() }
    return "\(sign)\(whole).\(digits)"
  }

  /// Writes a whole number with commas between its thousands.
  static func grouped(_ value: Int) -> String {
    var groups: [String] = []
    var rest = value.magnitude
    while rest >= 1000 {
      groups.append(String(String(rest % 1000 + 1000).dropFirst()))
      rest /= 1000
    }
    groups.append(String(rest))
    return (value < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
  }

  static func integer(_ text: String) -> Int? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
  }

  /// Parses digits with at most one decimal point.
  static func decimal(_ text: String) -> Double? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E } ? Double(text) : nil
  }

  /// Parses the number of events a second of `--rate`: `50`, `0.5` or `50/s`.
  static func rate(_ text: String, from least: Double) throws(UsageError) -> Double {
    let number =
      text.ends(with: "/s") ? String(decoding: text.utf8.dropLast(2), as: UTF8.self) : text
    guard let rate = decimal(number), rate >= least, rate <= 1_000_000 else {
      throw UsageError("--rate: '\(text)' is not a number of events a second, such as 50 or 0.5")
    }
    return rate
  }

  /// Returns `number × unit` for up to nine decimal places; `nil` if malformed or too large.
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

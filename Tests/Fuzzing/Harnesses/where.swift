import PusherCore
import PusherLines
import TestSupport

/// Compares conditions of `--where` with the tree of the same line, and with each other.
///
/// Input: a line with a path, a line with a value, then the data, which is compacted as in every
/// line. No line has data that is no JSON; a search in it must be harmless. The line stands before
/// a protected page.
func fuzzWhere(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let path = text(input.line())
  let value = text(input.line())
  // Lines are UTF-8.
  let source = Array(text(input.rest).utf8)
  let compact = ByteBuffer()
  do {
    try withView(source) { try JSONCompactor.copy($0, into: compact) }
  } catch {
    let guarded = GuardedBytes(room: source.count + ByteBuffer.padding)
    withExtendedLifetime(guarded) {
      _ = try? FieldPath(path).value(in: $0.view(source, beforeEnd: 0))
    }
    return 0
  }
  let data = compact.view.array
  let line = Array(#"{"event":"e","channel":"c","data":"#.utf8) + data + Array("}\n".utf8)
  let trial = WhereTrial(line)
  let exists = trial.holds(path)
  let isEqual = trial.holds("\(path) == \(value)")
  let isUnequal = trial.holds("\(path) != \(value)")
  let isLess = trial.holds("\(path) < \(value)")
  let isGreater = trial.holds("\(path) > \(value)")
  let isMatch = trial.holds("\(path) ~ \(value)")
  guard let exists, let tree = try? JSONParser.parse(text(line)) else { return 0 }
  if let steps = reference(path) {
    let found = steps.reduce(tree as JSONValue?) { $0.flatMap($1) }
    require(exists == (found != nil), "\(path) is there: \(exists)")
  }
  guard let isEqual, let isUnequal else { return 0 }
  require(isEqual != isUnequal, "\(path) and \(value): both equal and unequal, or neither")
  let isPlain = value.utf8.allSatisfy { !"*?[\\".utf8.contains($0) }
  if isPlain, let isMatch { require(isMatch == isEqual, "\(path) ~ \(value) is \(isMatch)") }
  guard let isLess, let isGreater else { return 0 }
  let orders = [isLess, isEqual, isGreater].count { $0 }
  require(orders <= 1, "\(path) and \(value): more than one order")
  require(trial.holds("\(path) <= \(value)") == (isLess || isEqual), "\(path) <= \(value)")
  require(trial.holds("\(path) >= \(value)") == (isGreater || isEqual), "\(path) >= \(value)")
  return 0
}

/// Returns the steps of a plain path; `nil` for all others.
private func reference(_ path: String) -> [(JSONValue) -> JSONValue?]? {
  let bytes = Array(path.utf8)
  let marks = Array(#"[=!<>~""#.utf8)
  guard bytes.allSatisfy({ $0 > 0x20 && !marks.contains($0) }) else { return nil }
  return bytes.split(separator: 0x2E).map { name in
    { value in value[String(decoding: name, as: UTF8.self)] }
  }
}

/// A line before a protected page.
private struct WhereTrial {
  private let guarded: GuardedBytes
  private let line: [UInt8]

  init(_ line: [UInt8]) {
    guarded = GuardedBytes(room: line.count + ByteBuffer.padding)
    self.line = line
  }

  /// Returns `nil` for a text that is no expression.
  func holds(_ expression: String) -> Bool? {
    let clause = try? WhereClause(expression)
    guard let clause, let filter = WhereFilter([clause]) else { return nil }
    return withExtendedLifetime(guarded) { filter.passes(EventLine($0.view(line, beforeEnd: 0))) }
  }
}

extension FuzzInput {
  /// Takes the bytes before the next newline.
  fileprivate mutating func line() -> [UInt8] {
    var line: [UInt8] = []
    while !rest.isEmpty {
      let byte = byte()
      if byte == 0x0A { break }
      line.append(byte)
    }
    return line
  }
}

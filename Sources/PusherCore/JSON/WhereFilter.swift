/// Decides whether a line meets all conditions of `--where`.
///
/// One walk over the line for each condition, without a tree. A line's text with escapes is copied
/// into one buffer, which keeps its room.
///
/// A filter has one condition and knows the filter of the next one: a list would count references
/// for each line.
package final class WhereFilter {
  private let clause: WhereClause
  private let next: WhereFilter?
  private let scratch: ByteBuffer

  /// Returns `nil` without conditions.
  package convenience init?(_ clauses: [WhereClause]) {
    self.init(clauses[...], ByteBuffer(capacity: 4096))
  }

  private init?(_ clauses: ArraySlice<WhereClause>, _ scratch: ByteBuffer) {
    guard let first = clauses.first else { return nil }
    (clause, self.scratch) = (first, scratch)
    next = WhereFilter(clauses.dropFirst(), scratch)
  }

  /// - Parameter line: A JSON object, with or without the end of its line.
  package func passes(_ line: ByteView) -> Bool {
    guard clause.holds(for: line, scratch) else { return false }
    guard let next else { return true }
    return next.passes(line)
  }
}

extension WhereClause {
  /// Returns false for text that is not JSON.
  func holds(for line: ByteView, _ scratch: ByteBuffer) -> Bool {
    guard let value = JSONWalk.value(at: path, ofLine: line) else { return false }
    return check.holds(for: value, scratch)
  }
}

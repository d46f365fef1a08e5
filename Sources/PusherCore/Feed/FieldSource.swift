package struct FieldSourceError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// Supplies further fields for each request of a feed, such as a fresh token.
package protocol FieldSource: AnyObject {
  typealias Completion = (Result<HTTPHeaders, FieldSourceError>) -> Void

  /// Calls `completion` on the loop's thread, at once or later, exactly once unless cancelled.
  func fields(completion: @escaping Completion)

  /// Cancels the open request; its completion is not called.
  func cancel()
}

/// Why the fields for a request are not there.
package struct FieldSourceError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

/// Gives the fields that each request of a feed carries besides those of its ``Destination``, such as a fresh token.
package protocol FieldSource: AnyObject {
  typealias Completion = (Result<HTTPHeaders, FieldSourceError>) -> Void

  /// Answers on the loop's thread, at once or later, exactly once unless cancelled.
  func fields(completion: @escaping Completion)

  /// Forgets the open question; its completion is not called.
  func cancel()
}

/// The field of an answer that names a session, such as `Mcp-Session-Id`.
///
/// Its value goes back only to the scheme, host and port that gave it, as credentials do.
package final class SessionField {
  package let name: String
  /// False if the value is only shown.
  package let isSent: Bool
  private var given: (value: String, url: HTTPURL)?

  package init(_ name: String, isSent: Bool) { (self.name, self.isSent) = (name, isSent) }

  /// The value of the last answer with the field.
  package var value: String? { given?.value }

  /// Takes the value from the fields of an answer from `url`.
  func store(_ headers: HTTPHeaders, from url: HTTPURL) {
    if let value = headers[name], !value.isEmpty { given = (value, url) }
  }

  /// Returns the value to send to `url`.
  func field(for url: HTTPURL) -> String? {
    guard isSent, let given, given.url.isSameOrigin(as: url) else { return nil }
    return given.value
  }
}

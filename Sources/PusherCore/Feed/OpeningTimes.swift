/// Times of the steps of an opening; a step that was not reached has none.
///
/// After a redirect, the times are those of the last server, except for ``begin``.
package struct OpeningTimes: Sendable, Equatable {
  /// Start of the name look-up.
  package internal(set) var begin: Instant?
  /// The TCP connection, through the proxy if there is one.
  package internal(set) var connected: Instant?
  /// The end of the TLS handshake; without TLS, the same as ``connected``.
  package internal(set) var secured: Instant?
  /// The head of the final answer.
  package internal(set) var answered: Instant?

  package init() {}
}

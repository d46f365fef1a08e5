/// An event stream that begins at another place than the request named; events may be lost.
///
/// A Mercure hub answers a request for the events after an ID with the ID of the event before the
/// first one that it sends. It answers ``Resumption/earliest`` if it does not find that event, for
/// example because its history is too short (Mercure, "Reconnection, State Reconciliation, and
/// Event Sourcing").
package struct Resumption: Sendable, Equatable {
  /// ID of the event that the request named.
  package let asked: String
  /// ID in the answer.
  package let answered: String

  /// The word for the beginning of a hub's history, which is no ID of an event.
  package static let earliest = "earliest"
  /// Names of the answer's field: in version 1.0, and in its drafts.
  private static let fields = ["Mercure-Last-Event-ID", "Last-Event-ID"]
  /// Names of the parameter in the URL: in the drafts, in version 1.0, and in the first drafts.
  private static let parameters = ["lastEventID", "last_event_id", "Last-Event-ID"]

  /// Returns `nil` if the stream begins at the right place, or if one of the sides names no place.
  ///
  /// A request for everything, ``earliest``, loses nothing.
  init?(of answer: HTTPHeaders, asked: String?) {
    // A field's value has no blanks at its ends.
    guard let asked = asked.map({ ASCII.trimmed($0[...]) }), !asked.isEmpty,
      !asked.isSame(as: Self.earliest),
      let answered = Self.fields.compactMap({ answer[$0] }).first(where: { !$0.isEmpty }),
      !answered.isSame(as: asked)
    else { return nil }
    (self.asked, self.answered) = (asked, answered)
  }

  /// Returns the ID that a request names: the field, else the URL's parameter.
  static func asked(by fields: HTTPHeaders, _ url: HTTPURL) -> String? {
    fields["Last-Event-ID"] ?? url.query.flatMap(place)
  }

  /// Returns the value of the first parameter in a query that names an event.
  private static func place(in query: String) -> String? {
    for pair in Array(query.utf8).split(separator: UInt8(ascii: "&")) {
      guard let mark = pair.firstIndex(of: UInt8(ascii: "=")),
        let name = PercentEncoding.decodeForm(pair[..<mark]),
        parameters.contains(where: name.isSame)
      else { continue }
      return PercentEncoding.decodeForm(pair[(mark + 1)...])
    }
    return nil
  }
}

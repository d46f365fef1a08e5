import Foundation
import PusherCore
import Testing

/// A Mercure hub of one topic, with a short history.
///
/// An answer to a request for the events after an ID has that ID in a field of its head, or
/// `earliest` if the history does not have it (Mercure, "Reconnection, State Reconciliation, and
/// Event Sourcing").
struct MercureHub {
  struct Visit: Sendable {
    /// IDs in the history when the subscriber comes, the oldest first.
    var kept: [String] = []
    /// IDs of the updates that come while the subscriber is there.
    var live: [String] = []
    /// True if the hub then ends the stream.
    var ends = false

    /// Returns the updates that a subscriber missed who has the event `id`.
    func missed(since id: String?) -> [String] {
      if id == "earliest" { return kept }
      guard let id, let place = kept.firstIndex(of: id) else { return [] }
      return Array(kept[(place + 1)...])
    }
  }

  let server: ScriptedServer
  /// The IDs that the requests named.
  let asked = Record<String?>()

  /// - Parameters:
  ///   - field: Name of the answer's field; the drafts have another one.
  ///   - visits: The connections in order; the last one stands for all further ones.
  init(field: String = "Mercure-Last-Event-ID", _ visits: Visit...) throws {
    let asked = asked
    server = try ScriptedServer { connection in
      let visit = visits[min(connection.number, visits.count) - 1]
      let id = Self.place(in: try connection.question().head)
      asked.add(id)
      var fields = [("Cache-Control", "private, no-store")]
      if let id { fields.append((field, visit.kept.contains(id) ? id : "earliest")) }
      try connection.beginAnswer(fields, type: "text/event-stream")
      // The hub in Go begins with a comment too, so that the head leaves at once.
      let updates = (visit.missed(since: id) + visit.live).map(Self.update).joined()
      try connection.send(stream: ":\n" + updates)
      if !visit.ends { try connection.remain() }
    }
  }

  /// Subscription to the topic; `query` is added to it.
  func url(_ query: String = "") -> String {
    "http://127.0.0.1:\(server.port)/.well-known/mercure?topic=books%2F1\(query)"
  }

  static func update(_ id: String) -> String { "id: \(id)\ndata: {\"of\":\"\(id)\"}\n\n" }

  /// Returns the ID that a request names: the field counts before the parameter.
  private static func place(in head: HTTPRequestHead) -> String? {
    if let id = head.headers["Last-Event-ID"] { return id }
    let parts = head.target.components(separatedBy: "lastEventID=")
    guard parts.count == 2 else { return nil }
    return PercentEncoding.decode(parts[1].components(separatedBy: "&")[0])
  }
}

internal import PusherCore

struct PrettySentence: Equatable {
  var subject: String?
  /// The rest of the sentence, with a leading blank after a subject.
  var rest: String
}

extension PrettySentence {
  /// Describes a lifecycle event; `members` is the current number of members, if known.
  init?(_ event: String, _ data: JSONValue, members: Int?) {
    guard let colon = event.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let word = String(event[event.index(after: colon)...])
    guard let found = Self.ofChannel(word, data, members) ?? Self.ofConnection(word, data) else {
      return nil
    }
    self = found
  }

  private static func ofChannel(
    _ word: String, _ data: JSONValue, _ members: Int?
  ) -> PrettySentence? {
    let there = members.map { " (\(Quantities.words($0, of: "member")))" } ?? ""
    switch word {
    case "member_added": return Self(subject: name(of: data), rest: " joined" + there)
    case "member_removed": return Self(subject: name(of: data), rest: " left" + there)
    case "subscription_succeeded":
      let count = data["presence"]?["count"]?.integer.map {
        " (\(Quantities.words($0, of: "member")))"
      }
      return Self(rest: "subscribed" + (count ?? there))
    case "subscription_error": return Self(rest: "subscription refused: " + failure(data))
    case "subscription_count":
      return data["subscription_count"]?.integer.map {
        Self(rest: $0 == 1 ? "1 subscription" : "\($0) subscriptions")
      }
    case "left": return Self(rest: "left: no other subscribers")
    case "cache_miss": return Self(rest: "no event is cached")
    case "online": return Self(subject: users(data), rest: " came online")
    case "offline": return Self(subject: users(data), rest: " went offline")
    default: return nil
    }
  }

  private static func ofConnection(_ word: String, _ data: JSONValue) -> PrettySentence? {
    func text(_ member: String) -> String { data[member]?.identifier ?? "" }
    switch word {
    case "connection_established":
      return Self(rest: "connected to \(text("host")), socket \(text("socket_id"))")
    case "connected":
      let id = text("last_event_id")
      return Self(
        rest: "connected to \(text("url"))" + (id.isEmpty ? "" : ", continuing after event \(id)"))
    case "disconnected":
      let retry = text("retry_in")
      return Self(
        rest: "no connection: \(text("reason"))"
          + (retry.isEmpty ? "" : "; retrying in \(retry) s"))
    case "signin_error": return Self(rest: "sign-in refused: " + failure(data))
    case "error":
      let code = text("code")
      return Self(
        rest: "the server reports error" + (code.isEmpty ? "" : " " + code) + ": " + text("message")
      )
    case "rate_limited":
      let end =
        data["all_in"] == nil
        ? "; retrying in \(text("retry_in")) s" : ", which takes about \(text("all_in")) s"
      let message = text("message").isEmpty ? "" : ": " + text("message")
      return Self(
        rest: "the server's rate limit\(message); \(text("waiting")) requests wait\(end)")
    case "exit":
      return Self(
        rest: "ended after \(text("events")) events: \(text("reason")), status \(text("status"))")
    default: return nil
    }
  }

  /// Name of a member as the app gave it, followed by the ID; else the ID.
  private static func name(of member: JSONValue) -> String {
    let id = member["user_id"]?.identifier ?? "somebody"
    guard let name = member["user_info"]?["name"]?.text, !name.isEmpty, name != id else {
      return id
    }
    return "\(name) (\(id))"
  }

  private static func users(_ data: JSONValue) -> String {
    (data["user_ids"]?.elements ?? []).compactMap(\.identifier).joined(separator: ", ")
  }

  private static func failure(_ data: JSONValue) -> String {
    let status = data["status"]?.identifier.map { " (status \($0))" } ?? ""
    return (data["error"]?.identifier ?? "") + status
  }
}

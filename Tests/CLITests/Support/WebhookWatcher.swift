import Foundation
import PusherCore

/// A suite that lets members of presence-room come and go, and reads what webhooks report.
protocol WebhookWatcher {
  /// A running `webhook listen`.
  var receiver: ChildProgram { get }
}

extension WebhookWatcher {
  /// A member of presence-room; returns once it is subscribed.
  func member(_ server: LocalServer, _ user: String) throws -> ChildProgram {
    try server.subscribe(["presence-room"], "-L", "--user-id", user, "--reconnect", "never")
  }

  /// Ends a member, and waits for its end.
  func leave(_ member: ChildProgram) throws {
    member.send(SIGTERM)
    try member.wait()
  }

  /// The events of the next webhooks, each with its user.
  func told(_ count: Int) throws -> [String] {
    try receiver.lines(count).map(summary)
  }

  /// The event of a webhook and its user.
  func summary(_ line: String) throws -> String {
    let value = try JSONParser.parse(line)
    return [value["event"]?.text, value["user_id"]?.text].compactMap(\.self).joined(separator: " ")
  }
}

import Foundation
import PusherCore

/// A suite with members of presence-room that come and go, and a reader of webhooks.
protocol WebhookWatcher {
  var receiver: ChildProgram { get }
}

extension WebhookWatcher {
  func member(_ server: LocalServer, _ user: String) throws -> ChildProgram {
    try server.subscribe(["presence-room"], "-L", "--user-id", user, "--reconnect", "never")
  }

  func leave(_ member: ChildProgram) throws {
    member.send(SIGTERM)
    try member.wait()
  }

  /// Returns the events of the next webhooks, each with its user.
  func told(_ count: Int) throws -> [String] {
    try receiver.lines(count).map(summary)
  }

  func summary(_ line: String) throws -> String {
    let value = try JSONParser.parse(line)
    return [value["event"]?.text, value["user_id"]?.text].compactMap(\.self).joined(separator: " ")
  }
}

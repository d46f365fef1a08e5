internal import PusherCore

/// Runs `channels`, `users` and `terminate`: one API call, with the answer as JSON lines.
enum InspectCommand {
  static func run(_ settings: InspectSettings, diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.outcome {
      let caller = try APICaller(settings.access, diagnostics: diagnostics)
      let body = try caller.accepted(caller.send(call(settings, caller))) {
        remedy(for: settings.call, status: $0)
      }
      guard let answer = try? JSONParser.parse(body), let lines = lines(answer, settings.call)
      else { return diagnostics.rejectAnswer() }
      if case .terminate(let user) = settings.call {
        diagnostics.info("ended the connections of user \(user)")
      }
      return diagnostics.print(lines.map { JSONWriter.text($0) + "\n" }.joined())
    }
  }

  private static func call(_ settings: InspectSettings, _ caller: APICaller) -> APIRequest {
    let (appID, info) = (caller.appID, settings.info)
    switch settings.call {
    case .channels(let filter):
      return .channels(appID: appID, filter: filter, info: info)
    case .channel(let name): return .channel(name, appID: appID, info: info)
    case .users(let channel): return .users(of: channel, appID: appID)
    case .terminate(let user): return .terminate(user: user, appID: appID)
    }
  }

  /// Reverb answers 404 for a presence channel without members.
  private static func remedy(for call: InspectSettings.Call, status: Int) -> String? {
    guard case .users(let channel) = call, status == 404 else { return nil }
    return "nobody is on \(channel), or --host, --port, --path or the app id is wrong"
  }

  /// Returns one object per line, or nil for an answer of another shape.
  private static func lines(_ answer: JSONValue, _ call: InspectSettings.Call) -> [JSONValue]? {
    switch call {
    case .channels:
      return answer["channels"]?.members?.map { named($0.name, $0.value.members ?? []) }
    case .channel(let name): return answer.members.map { [named(name, $0)] }
    case .users: return answer["users"]?.elements?.map(user)
    case .terminate: return answer.members == nil ? nil : []
    }
  }

  /// Returns a user with the id as text, as on the wire: ids are compared as text.
  private static func user(_ user: JSONValue) -> JSONValue {
    guard let members = user.members else { return user }
    return .object(
      members.map { member in
        guard member.name == "id", let id = member.value.identifier else { return member }
        return .init("id", .string(id))
      })
  }

  private static func named(_ channel: String, _ members: [JSONValue.Member]) -> JSONValue {
    .object([.init("channel", .string(channel))] + members)
  }
}

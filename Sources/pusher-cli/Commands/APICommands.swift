internal import PusherCore

/// `trigger` sends one event through the HTTP API, or every line of standard input.
extension TriggerSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.outcome {
      let caller = try APICaller(access, diagnostics: diagnostics)
      switch payload {
      case .event(let name, let data): return try send(name, data, caller, diagnostics)
      case .lines(let name):
        return try LineTrigger(self, event: name, caller: caller, diagnostics: diagnostics).run()
      }
    }
  }

  private func send(
    _ name: String, _ data: String, _ caller: APICaller, _ diagnostics: Diagnostics
  ) throws -> ExitStatus {
    let call = try TriggerRequest(
      name: name, channels: channels, data: data, socketID: socketID, info: info
    ).encrypted(with: encryptionKey).request(appID: caller.appID)
    if isDryRun { return diagnostics.print(caller.shown(call)) }
    let body = try caller.accepted(caller.send(call)) { status in
      status == 413 ? "the data has \(data.utf8.count) bytes" : nil
    }
    diagnostics.info("sent \(name) to \(channels.joined(separator: ", "))")
    guard !info.isEmpty else { return .success }
    guard let answer = try? JSONParser.parse(body), answer.members != nil else {
      return diagnostics.rejectAnswer()
    }
    return diagnostics.print(body.lines.joined() + "\n")
  }
}

/// `channels`, `users` and `terminate` make one API call, and print the answer as JSON lines.
extension InspectSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.outcome {
      let caller = try APICaller(access, diagnostics: diagnostics)
      let body = try caller.accepted(caller.send(request(caller.appID))) { remedy(for: $0) }
      guard let answer = try? JSONParser.parse(body), let lines = lines(answer) else {
        return diagnostics.rejectAnswer()
      }
      if case .terminate(let user) = call {
        diagnostics.info("ended the connections of user \(user)")
      }
      return diagnostics.print(lines.map { JSONWriter.text($0) + "\n" }.joined())
    }
  }

  private func request(_ appID: String) -> APIRequest {
    switch call {
    case .channels(let filter):
      return .channels(appID: appID, filter: filter, info: info)
    case .channel(let name): return .channel(name, appID: appID, info: info)
    case .users(let channel): return .users(of: channel, appID: appID)
    case .terminate(let user): return .terminate(user: user, appID: appID)
    }
  }

  /// Reverb answers 404 for a presence channel without members.
  private func remedy(for status: Int) -> String? {
    guard case .users(let channel) = call, status == 404 else { return nil }
    return "nobody is on \(channel), or --host, --port, --path or the app id is wrong"
  }

  /// Returns one object per line, or nil for an answer of another shape.
  private func lines(_ answer: JSONValue) -> [JSONValue]? {
    switch call {
    case .channels:
      return answer["channels"]?.members?.map { Self.named($0.name, $0.value.members ?? []) }
    case .channel(let name): return answer.members.map { [Self.named(name, $0)] }
    case .users: return answer["users"]?.elements?.map(Self.user)
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

internal import PusherCore

/// Runs `trigger`: sends one event through the HTTP API, or every line of standard input.
enum TriggerCommand {
  static func run(_ settings: TriggerSettings, diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.outcome {
      let caller = try APICaller(settings.access, diagnostics: diagnostics)
      switch settings.payload {
      case .event(let name, let data): return try send(name, data, settings, caller, diagnostics)
      case .lines(let name):
        return try LineTrigger(settings, event: name, caller: caller, diagnostics: diagnostics)
          .run()
      }
    }
  }

  private static func send(
    _ name: String, _ data: String, _ settings: TriggerSettings, _ caller: APICaller,
    _ diagnostics: Diagnostics
  ) throws -> ExitStatus {
    let call = try TriggerRequest(
      name: name, channels: settings.channels, data: data, socketID: settings.socketID,
      info: settings.info
    ).encrypted(with: settings.encryptionKey).request(appID: caller.appID)
    if settings.isDryRun { return diagnostics.print(caller.shown(call)) }
    let body = try caller.accepted(caller.send(call)) { status in
      status == 413 ? "the data has \(data.utf8.count) bytes" : nil
    }
    diagnostics.info("sent \(name) to \(settings.channels.joined(separator: ", "))")
    guard !settings.info.isEmpty else { return .success }
    guard let answer = try? JSONParser.parse(body), answer.members != nil else {
      return diagnostics.rejectAnswer()
    }
    return diagnostics.print(body.lines.joined() + "\n")
  }
}

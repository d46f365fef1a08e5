internal import PusherCore

/// The settings of `channels`, `users` and `terminate`.
struct InspectSettings: CommandSettings {
  enum Call: Equatable, Sendable {
    case channels(filter: String?)
    case channel(String)
    case users(channel: String)
    case terminate(user: String)
  }

  var access: APIAccess
  var call: Call
  var info: [String]
  var common: CommonSettings

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    if typed.operands.count > 1 {
      throw UsageError(
        "\(typed.command.rawValue) takes one argument (found '\(typed.operands[1])' too)",
        helpFor: typed.command)
    }
    info = try reader.info()
    call = try Self.call(typed, &reader, info)
    access = try reader.apiAccess()
    common = reader.common
  }

  private static func call(
    _ typed: TypedArguments, _ reader: inout SettingsReader, _ info: [String]
  ) throws(UsageError) -> Call {
    let asksUsers = info.contains { $0 == "user_count" }
    switch (typed.command, typed.operands.first) {
    case (.users, let name?):
      let channel = try reader.channels([name])[0]
      guard ChannelKind(channelName: channel) == .presence else {
        throw UsageError("'\(channel)' has no users: give a channel that begins with presence-")
      }
      return .users(channel: channel)
    case (.users, nil): throw UsageError("no channel: give one", helpFor: .users)
    case (.terminate, let user?): return .terminate(user: user)
    case (.terminate, nil): throw UsageError("no user: give an id", helpFor: .terminate)
    case (_, let name?):
      if typed.text(.prefix) != nil {
        throw UsageError("--prefix filters the list of channels; leave it out to show '\(name)'")
      }
      let channel = try reader.channels([name])[0]
      guard !asksUsers || ChannelKind(channelName: channel) == .presence else {
        throw UsageError("--info user_count works only for channels that begin with presence-")
      }
      return .channel(channel)
    case (_, nil):
      let prefix = typed.text(.prefix)
      guard !asksUsers || prefix?.hasPrefix("presence-") == true else {
        throw UsageError("--info user_count needs --prefix presence-")
      }
      if info.contains(where: { $0 == "cache" }) {
        throw UsageError("--info cache needs the name of one channel")
      }
      return .channels(filter: prefix)
    }
  }
}

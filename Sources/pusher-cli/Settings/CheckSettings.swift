internal import PusherCore

struct CheckSettings: CommandSettings {
  var subscription: SubscribeSettings
  /// `nil` if app ID or secret is missing; ``apiProblem`` has the message.
  var api: APIAccess?
  var apiProblem: String?
  /// `nil` without `--publish`; needs ``api``.
  var roundTrip: RoundTripSettings?
  var origin: String
  var isJSON: Bool
  var common: CommonSettings { subscription.common }

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let source = try reader.source(.webSocket)
    origin = (reader.typed.setting(.key) ?? source.key)?.origin ?? "default"
    isJSON = reader.typed.text(.output) == OutputFormat.json.rawValue
    let publishes = reader.typed.isOn(.publish)
    do throws(UsageError) {
      api = try reader.apiAccess()
    } catch {
      guard !publishes else { throw UsageError("--publish: \(error.message)") }
      apiProblem = error.message
    }
    if publishes { roundTrip = try RoundTripSettings(&reader) }
    subscription = try SubscribeSettings(&reader)
  }
}

/// The round trips of `check --publish`.
struct RoundTripSettings: Equatable, Sendable {
  /// Channels of the command line; empty for a channel of the program's own.
  var channels: [String]
  /// Needed for an encrypted channel.
  var encryptionKey: EncryptionMasterKey?
  var app: BroadcastingApp

  fileprivate init(_ reader: inout SettingsReader) throws(UsageError) {
    var known: Set<String> = []
    channels = reader.typed.operands.filter { known.insert($0).inserted }
    let encrypted = channels.first { ChannelKind(channelName: $0) == .encrypted }
    encryptionKey = try reader.encryptionKey(for: encrypted)
    app = reader.broadcastingApp
    for channel in channels where ChannelName.isCache(channel) {
      reader.warn("--publish: '\(channel)' keeps the event of check for later subscribers")
    }
  }
}

/// The checked settings of `check`: those of a subscription, and of the HTTP API as far as they are there.
struct CheckSettings: CommandSettings {
  var subscription: SubscribeSettings
  /// `nil` where app id or secret are missing; ``apiProblem`` says which.
  var api: APIAccess?
  var apiProblem: String?
  /// Where the app is named.
  var origin: String
  var isJSON: Bool

  var common: CommonSettings { subscription.common }

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let source = try reader.source(.webSocket)
    origin = (reader.typed.setting(.key) ?? source.key)?.origin ?? "default"
    isJSON = reader.typed.text(.output) == OutputFormat.json.rawValue
    do throws(UsageError) {
      api = try reader.apiAccess()
    } catch {
      apiProblem = error.message
    }
    reader.warnOfBroadcaster()
    subscription = try SubscribeSettings(&reader)
  }
}

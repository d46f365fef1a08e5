struct CheckSettings: CommandSettings {
  var subscription: SubscribeSettings
  /// `nil` if app ID or secret is missing; ``apiProblem`` has the message.
  var api: APIAccess?
  var apiProblem: String?
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

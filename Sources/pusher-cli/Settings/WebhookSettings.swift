/// Everything `webhook listen` needs to know, checked.
struct WebhookSettings: CommandSettings {
  var listen: ListenSettings
  var key: String
  var secret: Secret
  /// After so many printed events the run ends.
  var count: Int?
  var timeout: Duration?
  var hasTimestamps: Bool
  var common: CommonSettings
}

extension WebhookSettings {
  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    guard typed.operands == ["listen"] else {
      let found = typed.operands.first { $0 != "listen" }.map { " (found '\($0)')" } ?? ""
      throw UsageError("webhook takes one word: listen\(found)", helpFor: .webhook)
    }
    listen = try reader.listening()
    (key, secret) = try reader.signer()
    count = typed.integer(.count)
    timeout = typed.duration(.timeout)
    hasTimestamps = typed.isOn(.timestamps)
    common = reader.common
  }
}

/// Everything `webhook listen` needs to know, checked.
struct WebhookSettings: CommandSettings {
  /// A name or address, IPv6 without brackets.
  var host: String
  /// The port to listen on; 0 takes a free one.
  var port: Int
  var portFile: String?
  /// A command to run once webhooks are taken.
  var onReady: String?
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
    (host, port) = try ServeSettings.address(typed.word(.listen))
    portFile = typed.text(.portFile)
    onReady = typed.text(.onReady)
    (key, secret) = try reader.signer()
    count = typed.integer(.count)
    timeout = typed.duration(.timeout)
    hasTimestamps = typed.isOn(.timestamps)
    common = reader.common
  }
}

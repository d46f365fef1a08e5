/// Calls that read channels and users (Pusher's page "HTTP API reference").
extension APIRequest {
  /// `GET /apps/ID/channels`: occupied channels, optionally only names that begin with `filter`.
  ///
  /// `info` is `user_count` (only if `filter` begins with `presence-`) and `subscription_count`.
  package static func channels(
    appID: String, filter: String? = nil, info: [String] = []
  ) -> APIRequest {
    var parameters: [Parameter] = []
    if let filter { parameters.append(Parameter("filter_by_prefix", filter)) }
    return get(appID, "channels", parameters + self.info(info))
  }

  /// `GET /apps/ID/channels/NAME`: whether the channel is occupied, and the attributes in `info`.
  package static func channel(
    _ name: String, appID: String, info: [String] = []
  ) -> APIRequest {
    get(appID, "channels/\(PercentEncoding.encode(name))", self.info(info))
  }

  /// `GET /apps/ID/channels/NAME/users`: members of a presence channel.
  package static func users(of channel: String, appID: String) -> APIRequest {
    get(appID, "channels/\(PercentEncoding.encode(channel))/users", [])
  }

  /// `POST /apps/ID/users/UID/terminate_connections`: ends all connections of a signed-in user.
  package static func terminate(user: String, appID: String) -> APIRequest {
    post(appID, "users/\(PercentEncoding.encode(user))/terminate_connections", [:])
  }

  static func post(
    _ appID: String, _ path: String, _ body: JSONValue
  ) -> APIRequest {
    APIRequest(
      method: "POST", path: "/apps/\(PercentEncoding.encode(appID))/\(path)",
      body: Array(body.jsonText.utf8))
  }

  private static func get(
    _ appID: String, _ path: String, _ parameters: [Parameter]
  ) -> APIRequest {
    APIRequest(
      method: "GET", path: "/apps/\(PercentEncoding.encode(appID))/\(path)",
      parameters: parameters)
  }

  private static func info(_ names: [String]) -> [Parameter] {
    names.isEmpty ? [] : [Parameter("info", names.joined(separator: ","))]
  }
}

/// The calls that read channels and users, and the one that ends a user's connections.
///
/// Source: Pusher's page "HTTP API reference". `prefix` is "" or a path that begins with a slash.
extension APIRequest {
  /// `GET /apps/ID/channels`: the occupied channels, those whose names begin with `filter` if one is given.
  ///
  /// - Parameter info: What to tell of each: `user_count` (with a filter that begins with `presence-` alone),
  ///   `subscription_count` where the app allows it.
  package static func channels(
    appID: String, prefix: String = "", filter: String? = nil, info: [String] = []
  ) -> APIRequest {
    var parameters: [Parameter] = []
    if let filter { parameters.append(Parameter("filter_by_prefix", filter)) }
    return get(appID, prefix, "channels", parameters + self.info(info))
  }

  /// `GET /apps/ID/channels/NAME`: whether one channel is occupied, and what else is asked for.
  package static func channel(
    _ name: String, appID: String, prefix: String = "", info: [String] = []
  ) -> APIRequest {
    get(appID, prefix, "channels/\(PercentEncoding.encode(name))", self.info(info))
  }

  /// `GET /apps/ID/channels/NAME/users`: the members of a presence channel.
  package static func users(of channel: String, appID: String, prefix: String = "") -> APIRequest {
    get(appID, prefix, "channels/\(PercentEncoding.encode(channel))/users", [])
  }

  /// `POST /apps/ID/users/UID/terminate_connections`: ends all connections of a user who has signed in.
  package static func terminate(user: String, appID: String, prefix: String = "") -> APIRequest {
    post(appID, prefix, "users/\(PercentEncoding.encode(user))/terminate_connections", [:])
  }

  /// A call of an app that sends JSON.
  static func post(
    _ appID: String, _ prefix: String, _ path: String, _ body: JSONValue
  ) -> APIRequest {
    APIRequest(
      method: "POST", path: "\(prefix)/apps/\(PercentEncoding.encode(appID))/\(path)",
      body: Array(body.jsonText.utf8))
  }

  private static func get(
    _ appID: String, _ prefix: String, _ path: String, _ parameters: [Parameter]
  ) -> APIRequest {
    APIRequest(
      method: "GET", path: "\(prefix)/apps/\(PercentEncoding.encode(appID))/\(path)",
      parameters: parameters)
  }

  private static func info(_ names: [String]) -> [Parameter] {
    names.isEmpty ? [] : [Parameter("info", names.joined(separator: ","))]
  }
}

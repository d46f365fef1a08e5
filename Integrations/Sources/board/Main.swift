import Foundation
import Hummingbird
import Logging
import PusherCore

/// Shows the orders of `private-orders` at `http://127.0.0.1:8080/orders`, until SIGTERM or SIGINT.
///
///     PUSHER_APP_ID=… PUSHER_APP_KEY=… PUSHER_APP_SECRET=… board [PORT]
///
/// PUSHER_HOST and PUSHER_PORT name a server without TLS, such as `pusher-cli serve`. Without
/// PUSHER_HOST, PUSHER_APP_CLUSTER names the cluster (`mt1`). BOARD_TOKEN is the only user's token.
@main struct Main {
  static func main() async throws {
    let environment = ProcessInfo.processInfo.environment
    guard let id = environment["PUSHER_APP_ID"], let key = environment["PUSHER_APP_KEY"],
      let secret = environment["PUSHER_APP_SECRET"]
    else {
      let needs = "PUSHER_APP_ID, PUSHER_APP_KEY and PUSHER_APP_SECRET"
      FileHandle.standardError.write(Data("board: error: no app: give \(needs)\n".utf8))
      exit(2)
    }
    var options = PusherClientOptions(authMethod: .inline(secret: secret))
    if let host = environment["PUSHER_HOST"] {
      (options.host, options.useTLS) = (.host(host), false)
      options.port = environment["PUSHER_PORT"].flatMap { Int($0) }
    } else if let cluster = environment["PUSHER_APP_CLUSTER"] {
      options.host = .cluster(cluster)
    }
    var users = Users(byToken: [:])
    if let token = environment["BOARD_TOKEN"] { users.byToken[token] = User(id: "7", name: "Ann") }
    let port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 8080
    let application = boardApplication(
      key: key, options: options, api: PusherAPI(appID: id, key: key, secret: secret),
      users: users, port: port, logger: Logger(label: "board"))
    try await application.runService()
  }
}

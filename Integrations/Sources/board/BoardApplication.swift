import Hummingbird
import Logging
import PusherCore
import PusherIntegrations

/// Returns the program: its routes, and a client that reads orders from `private-orders`.
///
/// The client ends with the server, at the graceful shutdown. `onListening` gets the server's port.
func boardApplication(
  key: String, options: PusherClientOptions, api: PusherAPI, users: Users, port: Int,
  logger: Logger, onListening: @escaping @Sendable (Int) -> Void = { _ in }
) -> some ApplicationProtocol {
  var options = options
  options.logger = SwiftLog(logger: logger)
  options.metrics = SwiftMetrics()

  let board = Board()
  let pusher = Pusher(key: key, options: options)
  pusher.subscribe("private-orders").bind(
    eventName: "order.created",
    eventCallback: EventSpans().handler { event in
      do {
        board.add(try event.decode(Order.self))
      } catch {
        logger.warning("order skipped: \(error)")
      }
    })

  return Application(
    router: routes(of: board, users: users, api: api),
    configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
    services: [PusherClientService(pusher, spans: ConnectionSpans())],
    onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) },
    logger: logger)
}

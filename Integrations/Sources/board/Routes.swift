import Hummingbird
import PusherCore

/// The program's routes.
///
/// - `GET /orders`: the latest orders as JSON.
/// - `GET /channels`: the occupied channels as JSON.
/// - `POST /pusher/auth`: lets a user's client into a private or presence channel.
/// - `POST /pusher/webhooks`: takes the service's webhooks.
func routes(of board: Board, users: Users, api: PusherAPI) -> Router<BasicRequestContext> {
  let router = Router()
  router.get("orders") { _, _ in board.latestOrders }
  router.get("channels") { _, _ in board.occupiedChannels }

  router.post("pusher/auth") { request, context in
    guard let user = users.user(authorization: request.headers[.authorization]) else {
      throw HTTPError(.unauthorized)
    }
    let question = try await URLEncodedFormDecoder().decode(
      ChannelQuestion.self, from: request, context: context)
    guard let text = try? answer(question, for: user, by: api) else {
      throw HTTPError(.forbidden)
    }
    return Response(
      status: .ok, headers: [.contentType: "application/json"],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }

  router.post("pusher/webhooks") { request, _ in
    let body = try await request.body.collect(upTo: 1 << 20)
    do {
      try board.take(
        Array(buffer: body), key: request.headers[.init("X-Pusher-Key")!],
        signature: request.headers[.init("X-Pusher-Signature")!], by: api)
    } catch is PusherWebhookError {
      throw HTTPError(.unauthorized)
    }
    return Response(status: .ok)
  }
  return router
}

import Foundation
import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Authorisation of a client` {
  let service: LocalService
  let delegate = RecordingDelegate()
  init() throws { service = try LocalService() }

  private func connect(_ method: AuthMethod, _ delegate: RecordingDelegate? = nil) -> Pusher {
    let pusher = service.pusher(method, delegate: delegate ?? self.delegate)
    pusher.connect()
    return pusher
  }

  @Test func `endpoint asks by POST with socket_id and channel_name`() async throws {
    let endpoint = try LocalEndpoint(LocalEndpoint.sign)
    let pusher = connect(.endpoint(authEndpoint: endpoint.url))
    let channel = pusher.subscribeToPresenceChannel(named: "a=b,c;d@e")
    #expect(try await delegate.subscribed.wait() == ["presence-a=b,c;d@e"])
    let request = try #require(endpoint.requests.values.first)
    #expect(request.head.hasPrefix("POST /pusher/auth HTTP/1.1\r\n"))
    #expect(request.form["socket_id"] == pusher.connection.socketId)
    #expect(request.form["channel_name"] == "presence-a%3Db%2Cc%3Bd%40e")
    #expect(channel.myId == "7", "from channel_data")
  }

  @Test func `an endpoint's no reaches the delegate; subscribing again tries again`() async throws {
    let asked = Gathered<Int>()
    let endpoint = try LocalEndpoint { request in
      asked.add(0)
      return asked.values.count == 1 ? (403, "not you") : LocalEndpoint.sign(request)
    }
    let pusher = connect(.endpoint(authEndpoint: endpoint.url))
    let channel = pusher.subscribe("private-a")
    let failed = try #require(try await delegate.failed.wait().first)
    #expect(failed.name == "private-a" && failed.data == "not you")
    #expect(failed.response?.statusCode == 403 && failed.error.status == 403)
    #expect(failed.response?.headers.contains { $0.name == "X-Was" } == true)
    #expect(channel.failure == failed.error)
    #expect(pusher.subscribe("private-a") === channel)
    _ = try await delegate.subscribed.wait()
    #expect(channel.isSubscribed && channel.failure == nil)
  }

  @Test func `the request is made anew for each subscription`() async throws {
    final class Builder: AuthRequestBuilderProtocol {
      let url: String
      let asked = Gathered<String>()
      init(url: String) { self.url = url }
      func requestFor(socketID: String, channelName: String) -> AuthRequest? {
        guard channelName != "private-never" else { return nil }
        asked.add(channelName)
        var request = AuthRequest(
          url: url, httpBody: "socket_id=\(socketID)&channel_name=\(channelName)")
        request.setValue("token \(asked.values.count)", forHTTPHeaderField: "Authorization")
        return request
      }
    }
    let endpoint = try LocalEndpoint(LocalEndpoint.sign)
    let builder = Builder(url: endpoint.url)
    let pusher = connect(.authRequestBuilder(authRequestBuilder: builder))
    pusher.subscribe("private-a")
    _ = try await delegate.subscribed.wait()
    pusher.subscribe("private-b")
    _ = try await delegate.subscribed.wait(for: 2)
    #expect(builder.asked.values == ["private-a", "private-b"])
    let heads = endpoint.requests.values.map(\.head)
    #expect(heads.first?.contains("Authorization: token 1") == true)
    #expect(heads.last?.contains("Authorization: token 2") == true)
    pusher.subscribe("private-never")
    #expect(try await delegate.failed.wait().first?.error.type == "AuthError")
  }

  @Test func `the delegate can change the request before it is sent`() async throws {
    let endpoint = try LocalEndpoint(LocalEndpoint.sign)
    let delegate = RecordingDelegate(changeRequest: { request in
      request.setValue("token", forHTTPHeaderField: "X-MyCustom-AuthTokenHeader")
      request.httpBody = (request.httpBody ?? "") + "&extra=1"
    })
    let pusher = connect(.endpoint(authEndpoint: endpoint.url), delegate)
    pusher.subscribe("private-a")
    _ = try await delegate.subscribed.wait()
    let request = try #require(endpoint.requests.values.first)
    #expect(request.head.contains("X-MyCustom-AuthTokenHeader: token"))
    #expect(request.form["extra"] == "1")
    #expect(delegate.asked.values == ["private-a"])
  }

  @Test func `an authorizer may answer on another thread, and nil is a no`() async throws {
    struct Own: Authorizer {
      func fetchAuthValue(
        socketID: String, channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
      ) {
        // A thread, because tasks of a busy test run may start after the client's timeout.
        Thread.detachNewThread {
          let isWelcome = channelName != "private-never"
          completionHandler(isWelcome ? LocalService.sign(socketID, channelName) : nil)
          completionHandler(nil)
        }
      }
    }
    let pusher = connect(.authorizer(authorizer: Own()))
    pusher.subscribe("private-a")
    pusher.subscribe("private-never")
    #expect(try await delegate.subscribed.wait() == ["private-a"])
    let failed = try await delegate.failed.wait()
    #expect(failed.map(\.name) == ["private-never"])
  }

  @Test(arguments: [
    (AuthMethod.noMethod, "no authorisation method is set (authMethod)"),
    // Refused by the server, which knows another secret.
    (.inline(secret: "wrong"), "Invalid signature"),
    // Not sent.
    (.endpoint(authEndpoint: "pusher/auth"), "cannot ask the endpoint"),
  ])
  func `a method that cannot work fails with a clear error`(method: AuthMethod, message: String)
    async throws
  {
    let pusher = connect(method)
    pusher.subscribe("private-a")
    let failed = try #require(try await delegate.failed.wait().first)
    #expect(failed.name == "private-a" && failed.error.message.contains(message))
  }
}

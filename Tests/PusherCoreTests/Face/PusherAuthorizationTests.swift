import Foundation
import PusherCore
import PusherServer
import TestSupport
import Testing

private func sign(_ socketID: String, _ channel: String) -> PusherAuth {
  let application = Application.forTests()
  let data = channel.hasPrefix("presence-") ? #"{"user_id":"7"}"# : nil
  return SubscriptionSignature(key: application.key, secret: application.secret)
    .authorize(socketID: socketID, channel: channel, channelData: data)
}

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Authorisation of a client` {
  let service: LocalService
  let delegate = RecordingDelegate()
  init() throws { service = try LocalService() }

  private static func answer(_ request: LocalEndpoint.Request) -> (Int, String) {
    let form = request.form
    let channel = PercentEncoding.decode(form["channel_name"] ?? "") ?? ""
    let auth = sign(form["socket_id"] ?? "", channel)
    var answer: [JSONValue.Member] = [.init("auth", .string(auth.auth))]
    if let data = auth.channelData { answer.append(.init("channel_data", .string(data))) }
    return (200, JSONValue.object(answer).jsonText)
  }

  private func connect(_ method: AuthMethod, _ delegate: RecordingDelegate? = nil) -> Pusher {
    let pusher = service.pusher(method)
    pusher.delegate = delegate ?? self.delegate
    pusher.connect()
    return pusher
  }

  @Test func `endpoint asks by POST with socket_id and channel_name`() async throws {
    let endpoint = try LocalEndpoint(Self.answer)
    let pusher = connect(.endpoint(authEndpoint: endpoint.url))
    pusher.subscribe("private-a=b,c;d@e")
    #expect(try await delegate.subscribed.wait() == ["private-a=b,c;d@e"])
    let request = try #require(endpoint.requests.values.first)
    #expect(request.head.hasPrefix("POST /pusher/auth HTTP/1.1\r\n"))
    #expect(request.form["socket_id"] == pusher.connection.socketId)
    #expect(request.form["channel_name"] == "private-a%3Db%2Cc%3Bd%40e")
  }

  @Test func `endpoint's channel_data makes the member`() async throws {
    let endpoint = try LocalEndpoint(Self.answer)
    let pusher = connect(.endpoint(authEndpoint: endpoint.url))
    let channel = pusher.subscribeToPresenceChannel(named: "p")
    _ = try await delegate.subscribed.wait()
    #expect(channel.myId == "7")
  }

  @Test func `an answer that stands inside data is taken too`() async throws {
    let endpoint = try LocalEndpoint { request in
      let (status, body) = Self.answer(request)
      return (status, #"{"status":"ok","data":\#(body)}"#)
    }
    let pusher = connect(.endpoint(authEndpoint: endpoint.url))
    let channel = pusher.subscribeToPresenceChannel(named: "p")
    #expect(try await delegate.subscribed.wait() == ["presence-p"])
    #expect(channel.myId == "7")
  }

  @Test func `an endpoint's no reaches the delegate with status and body`() async throws {
    let endpoint = try LocalEndpoint { _ in (403, "not you") }
    let pusher = connect(.endpoint(authEndpoint: endpoint.url))
    let channel = pusher.subscribe("private-a")
    let failed = try #require(try await delegate.failed.wait().first)
    #expect(failed.name == "private-a")
    #expect(failed.response?.statusCode == 403)
    #expect(failed.response?.headers.contains { $0.name == "X-Was" } == true)
    #expect(failed.data == "not you")
    #expect(failed.error.status == 403)
    #expect(channel.failure == failed.error)
  }

  @Test func `subscribing again after a failure makes another attempt`() async throws {
    let isFirst = Gathered<Int>()
    let endpoint = try LocalEndpoint { request in
      isFirst.add(0)
      return isFirst.values.count == 1 ? (403, "") : Self.answer(request)
    }
    let pusher = connect(.endpoint(authEndpoint: endpoint.url))
    let channel = pusher.subscribe("private-a")
    _ = try await delegate.failed.wait()
    #expect(pusher.subscribe("private-a") === channel)
    _ = try await delegate.subscribed.wait()
    #expect(channel.isSubscribed && channel.failure == nil)
  }

  @Test func `authRequestBuilder makes the request`() async throws {
    struct Builder: AuthRequestBuilderProtocol {
      let url: String
      func requestFor(socketID: String, channelName: String) -> AuthRequest? {
        guard channelName != "private-never" else { return nil }
        var request = AuthRequest(url: url)
        request.httpBody = "socket_id=\(socketID)&channel_name=\(channelName)"
        request.addValue("myToken", forHTTPHeaderField: "Authorization")
        return request
      }
    }
    let endpoint = try LocalEndpoint(Self.answer)
    let pusher = connect(.authRequestBuilder(authRequestBuilder: Builder(url: endpoint.url)))
    pusher.subscribe("private-a")
    _ = try await delegate.subscribed.wait()
    #expect(endpoint.requests.values.first?.head.contains("Authorization: myToken") == true)
    pusher.subscribe("private-never")
    #expect(try await delegate.failed.wait().first?.error.type == "AuthError")
  }

  @Test func `the request is made anew for each subscription`() async throws {
    final class Builder: AuthRequestBuilderProtocol {
      let url: String
      let asked = Gathered<String>()
      init(url: String) { self.url = url }
      func requestFor(socketID: String, channelName: String) -> AuthRequest? {
        asked.add(channelName)
        var request = AuthRequest(
          url: url, httpBody: "socket_id=\(socketID)&channel_name=\(channelName)")
        request.setValue("token \(asked.values.count)", forHTTPHeaderField: "Authorization")
        return request
      }
    }
    let endpoint = try LocalEndpoint(Self.answer)
    let builder = Builder(url: endpoint.url)
    let pusher = connect(.authRequestBuilder(authRequestBuilder: builder))
    pusher.subscribe("private-a")
    _ = try await delegate.subscribed.wait()
    pusher.subscribe("private-b")
    _ = try await delegate.subscribed.wait(for: 2)
    #expect(builder.asked.values == ["private-a", "private-b"])
    let heads = endpoint.requests.values.map(\.head)
    #expect(heads.first?.contains("token 1") == true && heads.last?.contains("token 2") == true)
  }

  @Test func `the delegate can change the request before it is sent`() async throws {
    let endpoint = try LocalEndpoint(Self.answer)
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
          completionHandler(isWelcome ? sign(socketID, channelName) : nil)
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

  @Test func `an authorizer's answer for an earlier connection answers nothing of a later one`()
    async throws
  {
    final class Slow: Authorizer {
      let asked = Gathered<(socketID: String, answer: @Sendable (PusherAuth?) -> Void)>()
      func fetchAuthValue(
        socketID: String, channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
      ) {
        asked.add((socketID, completionHandler))
      }
    }
    let authorizer = Slow()
    let pusher = connect(.authorizer(authorizer: authorizer))
    pusher.subscribe("private-a")
    let first = try await authorizer.asked.wait()[0]
    pusher.disconnect()
    pusher.connect()
    let second = try await authorizer.asked.wait(for: 2)[1]
    first.answer(nil)
    second.answer(sign(second.socketID, "private-a"))
    #expect(try await delegate.subscribed.wait() == ["private-a"])
    #expect(delegate.failed.values.isEmpty)
  }

  @Test func `an authorizer that never answers makes the subscription fail in time`()
    async throws
  {
    struct Silent: Authorizer {
      func fetchAuthValue(
        socketID: String, channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
      ) {}
    }
    var options = service.options(.authorizer(authorizer: Silent()))
    options.connectTimeout = .milliseconds(300)
    let pusher = Pusher(key: service.pusher().key, options: options)
    pusher.delegate = delegate
    pusher.connection.reconnectDelay = .milliseconds(10)
    pusher.connection.maxReconnectGapInSeconds = 0.02
    pusher.subscribe("private-a")
    pusher.connect()
    let failed = try await delegate.failed.wait()
    #expect(failed.first?.error.message.contains("did not answer within") == true)
  }

  @Test func `inline signs with the secret`() async throws {
    let pusher = connect(.inline(secret: Application.forTests().secret))
    pusher.subscribe("private-a")
    #expect(try await delegate.subscribed.wait() == ["private-a"])
  }

  @Test func `inline with another app's secret is refused by the server`() async throws {
    let pusher = connect(.inline(secret: "wrong"))
    pusher.subscribe("private-a")
    #expect(try await delegate.failed.wait().map(\.name) == ["private-a"])
  }

  @Test func `noMethod fails with a clear error`() async throws {
    let pusher = connect(.noMethod)
    pusher.subscribe("private-a")
    let failed = try await delegate.failed.wait()
    #expect(failed.first?.error.message == "no authorisation method is set (authMethod)")
  }

  @Test func `an auth that is given to subscribe is used`() async throws {
    let pusher = connect(.noMethod)
    _ = try await delegate.connected.wait()
    let socketID = try #require(pusher.connection.socketId)
    pusher.subscribe("private-a", auth: sign(socketID, "private-a"))
    let presence = pusher.subscribeToPresenceChannel(
      channelName: "presence-p", auth: sign(socketID, "presence-p"))
    _ = try await delegate.subscribed.wait(for: 2)
    #expect(presence.myId == "7")
  }

  @Test func `an event that cannot be decrypted reaches failedToDecryptEvent`() async throws {
    let secret = Base64.encode([UInt8](repeating: 7, count: 32))
    let endpoint = try LocalEndpoint { request in
      let (status, body) = Self.answer(request)
      return (status, body.dropLast() + #","shared_secret":"\#(secret)"}"#)
    }
    let pusher = connect(.endpoint(authEndpoint: endpoint.url))
    pusher.subscribe("private-encrypted-a")
    _ = try await delegate.subscribed.wait()
    try await service.trigger("e", "private-encrypted-a", #"{"nonce":"x","ciphertext":"y"}"#)
    let told = try await delegate.undecrypted.wait()
    #expect(told.first?.hasPrefix("private-encrypted-a e ") == true)
  }

  @Test func `an endpoint that cannot be one fails before anything is sent`() async throws {
    let pusher = connect(.endpoint(authEndpoint: "pusher/auth"))
    pusher.subscribe("private-a")
    let failed = try await delegate.failed.wait()
    #expect(failed.first?.error.message.contains("cannot ask the endpoint") == true)
  }
}

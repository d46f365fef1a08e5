import PusherCore
import PusherServer
import TestSupport
import Testing

private struct Broken: Error, Equatable {
  var what = "the database"
}

private actor Signatures: AsyncAuthorizer, AsyncUserAuthenticator {
  private var count = 0

  func authorization(socketID: String, channelName: String) async throws -> PusherAuth? {
    count += 1
    await Task.yield()
    switch channelName {
    case "private-never": return nil
    case "private-broken": throw Broken(what: "call \(count)")
    default: return LocalService.sign(socketID, channelName)
    }
  }

  func authentication(socketID: String) async throws -> PusherUserAuth? {
    count += 1
    guard count > 1 else { throw Broken() }
    return LocalService.signUser(socketID, #"{"id":"9"}"#)
  }
}

/// Waits until its task is cancelled.
final class EndlessAuthorizer: AsyncAuthorizer, AsyncAuthRequestBuilder {
  let asked = Gathered<String>()
  let cancelled = Gathered<String>()

  private func wait(_ channel: String) async throws {
    asked.add(channel)
    defer { cancelled.add(channel) }
    try await Task.sleep(for: .seconds(86_400))
  }

  func authorization(socketID: String, channelName: String) async throws -> PusherAuth? {
    try await wait(channelName)
    return nil
  }

  func request(socketID: String, channelName: String) async throws -> AuthRequest? {
    try await wait(channelName)
    return nil
  }
}

/// Asynchronous authorisers, and authorisers that give a reason for a refusal.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Asynchronous authorisation` {
  let service: LocalService
  let delegate = RecordingDelegate()
  init() throws { service = try LocalService() }

  /// The timeouts are long because tasks start late in a busy test run.
  private func pusher(
    _ method: AuthMethod, user: UserAuthMethod = .noMethod, timeout: Duration = .seconds(60)
  ) -> Pusher {
    let pusher = service.pusher(method) {
      $0.userAuthMethod = user
      $0.connectTimeout = timeout
    }
    pusher.connection.reconnectDelay = .milliseconds(10)
    pusher.connection.maxReconnectGapInSeconds = 0.02
    pusher.delegate = delegate
    return pusher
  }

  @Test func `an actor authorises, and nil is a no`() async throws {
    let pusher = pusher(.authorizer(authorizer: Signatures()))
    let channel = pusher.subscribe("private-a")
    pusher.subscribe("private-never")
    pusher.connect()
    try await channel.subscribed()
    let failed = try #require(try await delegate.failed.wait().first)
    #expect(failed.name == "private-never")
    #expect(failed.error.message == "the authorizer refused")
    #expect(failed.error.underlyingError == nil)
  }

  @Test func `a thrown error reaches delegate, channel and failures, each time`() async throws {
    let pusher = pusher(.authorizer(authorizer: Signatures()))
    let channel = pusher.subscribe("private-broken")
    var failures = channel.failures.makeAsyncIterator()
    pusher.connect()
    for number in 1...2 {
      let expected = Broken(what: "call \(number)")
      let told = try await delegate.failed.wait(for: number)[number - 1].error
      #expect(told.underlyingError as? Broken == expected)
      #expect(told.type == "AuthError" && told.message.hasPrefix("the authorizer failed: Broken("))
      #expect(await failures.next()?.underlyingError as? Broken == expected)
      #expect(channel.failure?.underlyingError as? Broken == expected)
      let thrown = await #expect(throws: SubscriptionFailure.self) {
        try await channel.subscribed()
      }
      #expect(thrown?.underlyingError as? Broken == expected)
      pusher.subscribe("private-broken")
    }
  }

  @Test func `a completion handler may give an error too`() async throws {
    struct Own: ResultAuthorizer {
      func fetchAuth(
        socketID: String, channelName: String,
        completionHandler: @escaping @Sendable (Result<PusherAuth, any Error>) -> Void
      ) {
        let auth = LocalService.sign(socketID, channelName)
        completionHandler(channelName == "private-a" ? .success(auth) : .failure(Broken()))
      }
    }
    let pusher = pusher(.authorizer(authorizer: Own()))
    pusher.subscribe("private-a")
    pusher.subscribe("private-b")
    pusher.connect()
    #expect(try await delegate.subscribed.wait() == ["private-a"])
    let failed = try #require(try await delegate.failed.wait().first)
    #expect(failed.error.underlyingError as? Broken == Broken())
  }

  @Test func `a user is authenticated by asynchronous code, and its error is told`() async throws {
    let pusher = pusher(.noMethod, user: .authenticator(authenticator: Signatures()))
    pusher.signIn()
    pusher.connect()
    let failed = try #require(try await delegate.signInFailed.wait().first)
    #expect(failed.error.underlyingError as? Broken == Broken())
    #expect(pusher.user.failure?.underlyingError as? Broken == Broken())
    pusher.signIn()
    #expect(try await delegate.signedIn.wait() == [#"9 {"id":"9"}"#])
  }

  @Test func `a request is built by asynchronous code, for instance with a token`() async throws {
    actor Builder: AsyncAuthRequestBuilder {
      let url: String
      init(url: String) { self.url = url }
      func request(socketID: String, channelName: String) async throws -> AuthRequest? {
        if channelName == "private-broken" { throw Broken() }
        if channelName == "private-never" { return nil }
        let form = "socket_id=\(socketID)&channel_name=\(channelName)"
        var request = AuthRequest(url: url, httpBody: form)
        request.setValue("token", forHTTPHeaderField: "Authorization")
        return request
      }
    }
    let endpoint = try LocalEndpoint(LocalEndpoint.sign)
    let pusher = pusher(.authRequestBuilder(authRequestBuilder: Builder(url: endpoint.url)))
    pusher.connect()
    pusher.subscribe("private-a")
    _ = try await delegate.subscribed.wait()
    #expect(endpoint.requests.values.first?.head.contains("Authorization: token") == true)
    pusher.subscribe("private-never")
    pusher.subscribe("private-broken")
    let failed = try await delegate.failed.wait(for: 2).sorted { $0.name < $1.name }
    #expect(failed.map(\.name) == ["private-broken", "private-never"])
    #expect(failed[0].error.underlyingError as? Broken == Broken())
    #expect(failed[1].error.message == "the request builder returned no request")
  }

  @Test(arguments: ["disconnect", "release", "loss"])
  func `the task is cancelled when the answer is no longer wanted`(_ way: String) async throws {
    let endless = EndlessAuthorizer()
    for method in [
      AuthMethod.authorizer(authorizer: endless),
      .authRequestBuilder(authRequestBuilder: endless),
    ] {
      let service = try LocalService()
      let before = (endless.asked.values.count, endless.cancelled.values.count)
      var pusher: Pusher? = service.pusher(method)
      pusher?.subscribe("private-a")
      pusher?.connect()
      _ = try await endless.asked.wait(for: before.0 + 1)
      switch way {
      case "disconnect": pusher?.disconnect()
      case "release": pusher = nil
      default: await service.stop()
      }
      _ = try await endless.cancelled.wait(for: before.1 + 1)
      withExtendedLifetime(pusher) {}
    }
  }

  /// Never answers.
  private struct Silent: Authorizer {
    func fetchAuthValue(
      socketID: String, channelName: String,
      completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    ) {}
  }

  @Test(arguments: [false, true])
  func `a silent authorizer fails in time, and its task is cancelled`(isTask: Bool) async throws {
    let endless = EndlessAuthorizer()
    let pusher = pusher(
      .authorizer(authorizer: isTask ? endless : Silent()), timeout: .milliseconds(300))
    pusher.subscribe("private-a")
    pusher.connect()
    if isTask { _ = try await endless.cancelled.wait() }
    let failed = try #require(try await delegate.failed.wait().first)
    #expect(failed.error.message == "the authorizer did not answer within 0.3 s")
    #expect(failed.error.underlyingError == nil)
  }

  @Test func `an asynchronous authoriser can be asked by a completion handler`() async throws {
    let auths = Gathered<PusherAuth?>()
    let users = Gathered<PusherUserAuth?>()
    let signatures = Signatures()
    signatures.fetchAuthValue(socketID: "1.2", channelName: "private-a") { auths.add($0) }
    #expect(try await auths.wait().first == LocalService.sign("1.2", "private-a"))
    signatures.fetchAuthValue(socketID: "1.2", channelName: "private-broken") { auths.add($0) }
    #expect(try await auths.wait(for: 2).last == .some(nil))
    signatures.fetchUserAuth(socketID: "1.2") { users.add($0) }
    #expect(try await users.wait().first??.userData == #"{"id":"9"}"#)
  }
}

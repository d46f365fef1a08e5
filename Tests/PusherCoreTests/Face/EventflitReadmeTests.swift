import PusherCore
import PusherServer
import TestSupport
import Testing

/// The Swift blocks that only EventflitSwift's README has, in order, compiled and run.
///
/// The page is PusherSwift's with other names. The classes keep the names of this library here;
/// Eventflit's prefixes, hosts and paths are in a ``PusherService``. The tests of PusherSwift's
/// README explain the changes to the blocks. The local server knows Eventflit's names and none of
/// Pusher's.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `EventflitSwift's README` {
  let service: LocalService
  init() throws { service = try LocalService { $0.service = .eventflit } }

  @Test func `Eventflit's cluster is where the client goes`() async throws {
    var options = PusherClientOptions(
      host: .cluster("eu"), service: .eventflit
    )
    let proxy = try WatchingProxy(&options)
    let eventflit = Pusher(key: "APP_KEY", options: options)
    eventflit.connect()
    #expect(try await proxy.destination() == "ws-eu.eventflit.com:443")
  }

  @Test func `Eventflit's endpoint is asked at its own path`() async throws {
    let endpoint = try LocalEndpoint { _ in (403, "") }
    // The page's URL, `https://:9292/eventflit/auth`, lacks its host. The path is the service's
    // own.
    let options = service.options(
      .endpoint(authEndpoint: "http://127.0.0.1:\(endpoint.port)")
    )
    let eventflit = Pusher(key: Application.forTests().key, options: options)
    eventflit.subscribe("private-a")
    eventflit.connect()
    let head = try await endpoint.requests.wait().first?.head
    #expect(head?.hasPrefix("POST /eventflit/auth HTTP/1.1\r\n") == true)
  }

  @Test func `an authenticated channel by a request builder`() async throws {
    let endpoint = try LocalEndpoint { _ in (403, "") }
    let options = service.options(
      AuthMethod.authRequestBuilder(authRequestBuilder: AuthRequestBuilder(url: endpoint.url))
    )
    let eventflit = Pusher(
      key: Application.forTests().key,
      options: options
    )
    eventflit.subscribe("private-a")
    eventflit.connect()
    let request = try #require(try await endpoint.requests.wait().first)
    #expect(request.head.contains("\r\nAuthorization: myToken"))
    #expect(request.form["channel_name"] == "private-a")
  }
}

import PusherCore
import PusherTesting

/// The samples of the README and of the articles, with checks of their results.
///
/// A test compares the pages with these sources: every sample on a page must be here.
enum Samples {
  /// The server that the samples use instead of the service that they name.
  @TaskLocal static var server: PusherTestServer?

  /// Shadows the library's type in the samples: the client connects to ``server``, with the app's
  /// key.
  static func Pusher(
    key: String, options: PusherClientOptions = PusherClientOptions()
  ) -> PusherCore.Pusher {
    guard let server else { preconditionFailure("a sample runs with a server") }
    var local = options
    let here = server.clientOptions()
    local.host = here.host
    local.port = here.port
    local.useTLS = here.useTLS
    local.tls.caFile = here.tls.caFile
    local.service = here.service
    if case .noMethod = local.authMethod {} else { local.authMethod = here.authMethod }
    return PusherCore.Pusher(key: server.key, options: local)
  }

  /// Shadows the library's type in the samples: the calls go to ``server``.
  static func PusherAPI(
    appID: String, key: String, secret: String, options: PusherAPI.Options = .init()
  ) -> PusherCore.PusherAPI {
    guard let server else { preconditionFailure("a sample runs with a server") }
    return server.api
  }

  static func run(
    _ name: String, _ server: PusherTestServer,
    _ body: @Sendable (PusherTestServer) async throws -> Void
  ) async {
    do {
      try await $server.withValue(server) { try await body(server) }
      print(name, "is done")
    } catch {
      print(name, "failed:", error)
    }
    await server.stop()
  }
}

/// Values from handlers on other threads, in their order.
final class Heard<Value: Sendable>: Sendable {
  private let values: AsyncStream<Value>
  private let teller: AsyncStream<Value>.Continuation

  init(_ type: Value.Type = Value.self) {
    (values, teller) = AsyncStream.makeStream(of: Value.self)
  }

  func add(_ value: Value) {
    teller.yield(value)
  }

  func next() async -> Value? {
    for await value in values { return value }
    return nil
  }
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

func expect(_ isSo: Bool, _ what: String) throws {
  guard isSo else { throw Unexpected(description: what) }
}

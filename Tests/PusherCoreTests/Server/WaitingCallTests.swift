import PusherCore
import PusherServer
import TestSupport
import Testing

/// Calls of the HTTP API whose answers come from other nodes.
@Suite("HTTP API, answers that come later", .ownThread, .timeLimit(.minutes(10)))
struct WaitingCallTests {
  /// A member that answers a call only when a socket subscribes.
  private final class LateMember: ClusterMember {
    var node: NodeRecord
    private var waiting: [Int] = []

    init(_ setup: AppSetup) { node = NodeRecord(setup) }

    var connectionCount: Int { 0 }
    var isDeserted: Bool { true }
    var channelCount: Int { 0 }
    var isAvailable: Bool { true }
    func isOccupied(_ channel: String) -> Bool { false }

    func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
      switch question {
      case .admit: return .answered(.admitted)
      case .published:
        waiting.append(waiting.count + 1)
        return .later(waiting.count)
      case .join(let request):
        for number in waiting { node.add(.answer(number, .published)) }
        waiting = []
        return .answered(.joined(Joined(request, members: nil, cached: nil)))
      default: return .answered(.unavailable)
      }
    }

    func leave(_ channel: String, userID: String?, at now: Instant) {}
    func signOut(_ userID: String, at now: Instant) {}
    func terminate(userID: String, at now: Instant) -> Bool { true }
    func publish(_ event: ChannelEvent, at now: Instant) -> Publication { .everywhere }
    func tick(at now: Instant) {}
  }

  private final class LateCluster: Cluster {
    var failure: String? { nil }
    var isSettled: Bool { true }
    var hasResigned: Bool { true }
    func place(for setup: AppSetup) -> any ClusterMember { LateMember(setup) }
    func giveUp(_ place: any ClusterMember) {}
    func flush(at now: Instant) {}
    func takeLog() -> [ServerLogEvent] { [] }
    func resign(at now: Instant) {}
    func close() {}
  }

  @Test func `an answer that a client's message brings reaches the call that waits`() throws {
    let test = try ServerHarness(cluster: LateCluster())
    let signed = APIRequest(
      method: "POST", path: "/apps/3/events",
      body: Array(#"{"name":"e","channels":["c"],"data":"1"}"#.utf8)
    ).signed(
      key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8",
      timestamp: SystemClock.wall().secondsSince1970)
    let body = String(decoding: signed.body ?? [], as: UTF8.self)
    let caller = test.raw(
      "POST \(signed.target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    test.goRound()
    #expect(caller.text.isEmpty)
    socket.subscribe("news")
    #expect(test.run { caller.hasEnded })
    #expect(caller.text.hasPrefix("HTTP/1.1 200"), "\(caller.text)")
  }
}

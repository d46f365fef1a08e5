import PusherCore
import PusherServer
import TestSupport
import Testing

/// docs/security.md, "Queues that a peer can fill": the channels of an app, and their list.
@Suite("Many channels of an app")
struct ChannelLimitTests {
  fileprivate static let now: Int64 = 1_353_088_179

  private func events(_ client: HubClient) -> [String] {
    client.texts().compactMap { (try? JSONParser.parse($0))?["event"]?.text }
  }

  @Test func `a channel beyond the limit is refused, and one that is occupied is not`() throws {
    let hub = Hub.forTests { $0.channels = 2 }
    let clients = (1...2).map { HubClient(hub, "1.\($0)") }
    for client in clients { _ = client.texts() }
    for channel in ["a", "b"] { clients[0].subscribe(channel) }
    #expect(events(clients[0]).count == 2)
    for channel in ["c", "d"] {
      clients[1].subscribe(channel)
      let answer = try JSONParser.parse(try #require(clients[1].texts().first))
      #expect(answer["event"] == "pusher:error")
      #expect(answer["data"]?["code"] == .integer(4004))
      #expect(answer["data"]?["message"] == "the app has at most 2 channels")
    }
    clients[1].subscribe("a")
    #expect(events(clients[1]) == ["pusher_internal:subscription_succeeded"])
    let told = hub.takeLog().map(\.description).filter { $0.contains("its maximum of") }
    #expect(
      told == [
        "app 3 has its maximum of 2 channels: refused a subscription to another "
          + "(further refusals are not logged)"
      ])
  }

  @Test func `a channel that everybody has left makes room`() {
    let hub = Hub.forTests { $0.channels = 1 }
    let clients = (1...2).map { HubClient(hub, "1.\($0)") }
    clients[0].subscribe("a")
    for client in clients { _ = client.texts() }
    clients[1].subscribe("b")
    #expect(events(clients[1]) == ["pusher:error"])
    clients[0].lose()
    clients[1].subscribe("b")
    #expect(events(clients[1]) == ["pusher_internal:subscription_succeeded"])
    #expect(hub.occupiedChannels == ["b"])
  }

  // MARK: The list

  private final class ListRig {
    let applications: Applications
    let client: HubClient
    private var calls = CallTable<Void>()
    private(set) var answers: [HTTPAnswer] = []
    var isPaused: Bool { calls.hasTurn }

    init(_ count: Int) {
      applications = Applications([.forTests()], random: SeededGenerator(seed: 1))
      client = HubClient(applications.hubs[0], "1.1")
      for number in 0..<count { client.subscribe("c\(number)") }
    }

    func turn() { answers += calls.takeTurns(at: Instant(nanoseconds: 1)).map(\.1) }

    func ask() {
      let signed = APIRequest(method: "GET", path: "/apps/3/channels").signed(
        key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8",
        timestamp: ChannelLimitTests.now)
      let head = HTTPRequestHead(method: "GET", target: signed.target, headers: signed.headers)
      let beginning = APIRouter(applications).begin(
        HTTPRequestReader.Request(head: head), seconds: ChannelLimitTests.now,
        at: Instant(nanoseconds: 0))
      switch beginning {
      case .answer(let answer): answers.append(answer)
      case .call(let call, let progress):
        if let answer = calls.keep(call, progress, for: ()) { answers.append(answer) }
      }
    }
  }

  private func names(_ answer: HTTPAnswer?) -> [String] {
    (try? JSONParser.parse(answer?.body ?? ""))?["channels"]?.members?.map(\.name) ?? []
  }

  @Test(arguments: [(0, 0), (1, 0), (1000, 0), (1001, 1), (2500, 2)])
  func `a list is made in parts of a thousand channels, a turn of the loop each`(
    count: Int, turns: Int
  ) {
    let rig = ListRig(count)
    rig.ask()
    for _ in 0..<turns {
      #expect(rig.answers.isEmpty && rig.isPaused)
      rig.turn()
    }
    #expect(rig.answers.count == 1 && !rig.isPaused)
    #expect(names(rig.answers.first) == (0..<count).map { "c\($0)" }.sorted())
  }

  @Test func `a channel that is left while the list is made is not in it`() {
    let rig = ListRig(1500)
    rig.ask()
    // One name of the first part and one of the second.
    for channel in ["c0", "c999"] {
      rig.client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
    }
    rig.turn()
    let listed = names(rig.answers.first)
    #expect(listed.count == 1499)
    #expect(listed.contains("c0") && !listed.contains("c999"))
  }

  @Test func `a server lists three thousand channels`() throws {
    let test = try ServerHarness()
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    for number in 0..<3000 { socket.subscribe("c\(number)") }
    #expect(test.run { socket.texts.count == 3000 })
    let signed = APIRequest(method: "GET", path: "/apps/3/channels").signed(
      key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8",
      timestamp: SystemClock.wall().secondsSince1970)
    let client = test.raw(
      "GET \(signed.target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    #expect(test.run { client.hasEnded })
    let body = client.text.pieces(separatedBy: "\r\n\r\n").last ?? ""
    #expect((try JSONParser.parse(String(body)))["channels"]?.members?.count == 3000)
  }
}

import PusherCore
import Testing

@testable import PusherServer

/// docs/security.md, "Queues that a peer can fill": the channels of an app, and their list.
struct `Many channels of an app` {
  private static let succeeded = "pusher_internal:subscription_succeeded"

  @Test func `a channel beyond the limit is refused, and one that is occupied is not`() throws {
    let hub = Hub.forTests { $0.channels = 2 }
    let clients = (1...2).map { hub.client("1.\($0)") }
    for channel in ["a", "b"] { clients[0].subscribe(channel) }
    #expect(clients[0].names().count == 2)
    for channel in ["c", "d"] {
      clients[1].subscribe(channel)
      let error = try clients[1].error()
      #expect(error.code == 4004 && error.message == "the app has at most 2 channels")
    }
    clients[1].subscribe("a")
    #expect(clients[1].names() == [Self.succeeded])
    let told = hub.takeLog().map(\.description).filter { $0.contains("its maximum of") }
    #expect(
      told == [
        "app 3 has its maximum of 2 channels: refused a subscription to another "
          + "(further refusals are not logged)"
      ])
  }

  @Test func `a channel that everybody has left makes room`() {
    let hub = Hub.forTests { $0.channels = 1 }
    let clients = (1...2).map { hub.client("1.\($0)") }
    clients[0].subscribe("a")
    clients[1].subscribe("b")
    #expect(clients[1].names() == ["pusher:error"])
    clients[0].lose()
    clients[1].subscribe("b")
    #expect(clients[1].names() == [Self.succeeded])
    #expect(hub.occupiedChannels == ["b"])
  }

  // MARK: Shares

  private static func address(_ last: UInt8) -> ClientAddress {
    ClientAddress(SocketAddress(family: .ipv4, octets: [192, 0, 2, last], port: 1))
  }

  private func isAddressFull(_ client: HubClient) throws -> Bool {
    try client.error().message == "the connections of your address occupy at most 1 channels"
  }

  @Test func `five sockets of one address leave most channels to others`() throws {
    let hub = Hub.forTests {
      ($0.channels, $0.channelsPerAddress, $0.subscriptions) = (100, 25, 20)
    }
    let five = (1...5).map { HubClient(hub, "1.\($0)", from: Self.address(1)) }
    for (index, client) in five.enumerated() {
      for number in 0..<30 { client.subscribe("c\(index)-\(number)") }
    }
    #expect(hub.occupiedChannels.count == 25)
    let (first, last) = (try five[0].error(), try five[4].error())
    #expect(first.code == 4004 && last.code == 4004)
    #expect(first.message == "a connection has at most 20 subscriptions")
    #expect(last.message == "the connections of your address occupy at most 25 channels")
    let told = hub.takeLog().filter(\.isProblem).map(\.description)
    #expect(
      told == [
        "1.1 has its maximum of 20 channels of app 3: refused a subscription to another "
          + "(further refusals are not logged)",
        "192.0.2.1 has its maximum of 25 channels of app 3: refused a subscription to another "
          + "(further refusals are not logged)",
      ])
    // Channels of others, and other addresses, are not concerned.
    let other = HubClient(hub, "2.1", from: Self.address(2))
    other.subscribe("other")
    five[4].subscribe("other")
    #expect(hub.occupiedChannels.contains("other"))
    #expect(five[4].names() == [Self.succeeded])
    let hidden = hub.client("3.1")
    for number in 0..<20 { hidden.subscribe("h\(number)") }
    #expect(hub.occupiedChannels.count == 46)
    // The address gets its channels back when they are empty.
    five[0].unsubscribe("c0-0")
    five[4].subscribe("c4-0")
    #expect(hub.occupiedChannels.contains("c4-0"))
  }

  @Test func `who stays on a channel answers for it`() throws {
    let hub = Hub.forTests { $0.channelsPerAddress = 1 }
    let clients = [1, 2].map { HubClient(hub, "1.\($0)", from: Self.address($0)) }
    for client in clients { client.subscribe("a") }
    clients[1].subscribe("b")
    #expect(hub.occupiedChannels == ["a", "b"])
    clients[0].subscribe("c")
    #expect(try isAddressFull(clients[0]))
    clients[0].unsubscribe("a")
    clients[0].subscribe("c")
    #expect(hub.occupiedChannels == ["a", "b", "c"])
    clients[1].unsubscribe("b")
    clients[1].subscribe("d")
    #expect(try isAddressFull(clients[1]), "it has a now")
    clients[1].lose()
    let again = HubClient(hub, "1.3", from: Self.address(2))
    again.subscribe("d")
    #expect(hub.occupiedChannels == ["c", "d"])
  }

  @Test func `a socket joins in a burst, then so many a second, and may always leave`() throws {
    let hub = Hub.forTests { ($0.subscriptions, $0.joinsPerSecond) = (10, 100) }
    let client = hub.client()
    for _ in 0..<500 {
      client.subscribe("a")
      client.unsubscribe("a")
    }
    _ = client.texts()
    client.subscribe("a")
    let refused = try client.error()
    #expect(refused.code == 4301)
    #expect(refused.message == "above the rate limit of subscriptions: 100 in 1 s")
    #expect(hub.occupiedChannels == [])
    client.wait(.milliseconds(10))
    client.subscribe("a")
    #expect(client.names() == [Self.succeeded])
    client.subscribe("b")
    #expect(try client.error().code == 4301)
    client.unsubscribe("a")
    #expect(client.texts() == [] && hub.occupiedChannels == [])
    let told = hub.takeLog().filter(\.isProblem).map(\.description)
    #expect(
      told == [
        "1.1 subscribes to more than 100 channels of app 3 a second: refused a subscription to "
          + "another (further refusals are not logged)"
      ])
    client.wait(.seconds(10))
    for number in 0..<10 { client.subscribe("c\(number)") }
    #expect(hub.occupiedChannels.count == 10)
  }

  // MARK: Addresses

  @Test(
    arguments: [
      (.ipv4, [192, 0, 2, 1], "192.0.2.1"),
      (.ipv6, [UInt8](repeating: 0, count: 10) + [255, 255, 192, 0, 2, 1], "192.0.2.1"),
      (
        .ipv6, [0x20, 1, 0xD, 0xB8, 0, 1, 0, 2] + [UInt8](repeating: 7, count: 8),
        "2001:db8:1:2::/64"
      ),
    ] as [(SocketAddress.Family, [UInt8], String)])
  func `an address names one client`(family: SocketAddress.Family, octets: [UInt8], text: String) {
    let address = ClientAddress(SocketAddress(family: family, octets: octets, port: 9))
    #expect("\(address)" == text)
    var neighbour = octets
    neighbour[neighbour.count - 1] ^= 1
    let other = ClientAddress(SocketAddress(family: family, octets: neighbour, port: 9))
    #expect((other == address) == text.contains("/64"))
  }

  @Test(
    arguments: [
      ([127, 0, 0, 1], true), ([10, 1, 2, 3], true), ([172, 16, 0, 1], true),
      ([172, 32, 0, 1], false), ([192, 168, 1, 1], true), ([100, 64, 0, 1], true),
      ([100, 128, 0, 1], false), ([192, 0, 2, 1], false), ([8, 8, 8, 8], false),
    ] as [([UInt8], Bool)])
  func `a proxy nearby hides the address, a field does not`(octets: [UInt8], isHidden: Bool) {
    let peer = SocketAddress(family: .ipv4, octets: octets, port: 9)
    let fields = HTTPHeaders([("Host", "localhost"), ("X-Forwarded-For", "192.0.2.9")])
    let proxied = HTTPRequestHead(method: "GET", target: "/app/k", headers: fields)
    #expect((ClientAddress(of: peer, sending: proxied) == nil) == isHidden)
    let plain = HTTPRequestHead(method: "GET", target: "/app/k")
    #expect(ClientAddress(of: peer, sending: plain) == ClientAddress(peer))
    let mapped = [UInt8](repeating: 0, count: 10) + [255, 255] + octets
    let both = SocketAddress(family: .ipv6, octets: mapped, port: 9)
    #expect((ClientAddress(of: both, sending: proxied) == nil) == isHidden)
  }

  @Test(
    arguments: [
      ([0xFD, 1], true), ([0xFE, 0x80], true), ([0x20, 1], false), ([0, 0], false),
    ] as [([UInt8], Bool)])
  func `an IPv6 proxy is nearby on a private or link-local network`(start: [UInt8], isNear: Bool) {
    let rest = [UInt8](repeating: 0, count: 13)
    func isNearby(_ last: UInt8) -> Bool {
      SocketAddress(family: .ipv6, octets: start + rest + [last], port: 9).isNear
    }
    #expect(isNearby(2) == isNear)
    #expect(isNearby(1) == (isNear || start == [0, 0]), "::1 is this machine")
  }

  // MARK: The list

  private final class ListRig {
    let applications = Applications([.forTests()])
    let client: HubClient
    private var calls = CallTable<Void>()
    private(set) var answers: [HTTPAnswer] = []
    var isPaused: Bool { calls.hasTurn }

    init(_ count: Int) {
      client = applications.hubs[0].client()
      for number in 0..<count { client.subscribe("c\(number)") }
    }

    func turn() { answers += calls.takeTurns(at: Instant(nanoseconds: 1)).map(\.1) }

    func ask() {
      let progress = APIRouter(applications).begin(
        .signed("GET", "/apps/3/channels"), seconds: Applications.seconds,
        at: Instant(nanoseconds: 0))
      if let answer = calls.keep(progress, for: ()) { answers.append(answer) }
    }
  }

  private func names(_ answer: HTTPAnswer?) -> [String] {
    (try? JSONParser.parse(answer?.body ?? ""))?["channels"]?.members?.map(\.name) ?? []
  }

  @Test(arguments: [(0, 0), (1, 0), (1000, 0), (1001, 1), (2500, 2)])
  func `a list is made in parts of a thousand channels, one a turn`(count: Int, turns: Int) {
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
    for channel in ["c0", "c999"] { rig.client.unsubscribe(channel) }
    rig.turn()
    let listed = names(rig.answers.first)
    #expect(listed.count == 1499)
    #expect(listed.contains("c0") && !listed.contains("c999"))
  }

  @Test func `a server lists three thousand channels`() throws {
    let test = try ServerHarness()
    let socket = try test.established()
    for number in 0..<3000 { socket.subscribe("c\(number)") }
    #expect(test.run { socket.texts.count == 3000 })
    let call = try ServerHarness.signed(
      APIRequest(method: "GET", path: "/apps/3/channels"), ("Connection", "close"))
    let answer = test.answer(to: String(decoding: call, as: UTF8.self))
    let body = answer.pieces(separatedBy: "\r\n\r\n").last ?? ""
    #expect((try JSONParser.parse(String(body)))["channels"]?.members?.count == 3000)
  }
}

import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite("Protocol page, connection and error codes")
struct SocketAdmissionTests {
  private func code(
    _ target: String, _ change: (inout ServerLimits) -> Void = { _ in }
  ) -> Int? {
    var limits = ServerLimits()
    change(&limits)
    let applications = Applications(
      [
        Application(id: "1", key: "abc", secret: "s"),
        Application(id: "2", key: "off", secret: "s", isEnabled: false),
      ], limits: limits, random: SeededGenerator(seed: 1))
    let head = HTTPRequestHead(method: "GET", target: target)
    do throws(ProtocolRefusal) {
      #expect(try applications.admit(head).application.key == "abc")
      return nil
    } catch { return error.code?.rawValue }
  }

  @Test(arguments: [
    "/app/abc", "/app/abc?protocol=7&client=js&version=8.4.0&flash=false",
    "/app/abc?version=10.1.10-beta.2&protocol=4", "/app/abc?protocol=5", "/app/abc?protocol=6",
    "/app/abc?client=x",
  ])
  func `known keys with protocols four to seven or none are let in`(target: String) {
    #expect(code(target) == nil)
  }

  @Test(arguments: [
    ("/app/xyz?protocol=7", 4001), ("/app/off?protocol=7", 4003), ("/", 4005), ("/app", 4005),
    ("/app/abc/more", 4005), ("/ws/app/abc", 4005), ("/apps/abc", 4005), ("/app/%zz", 4005),
    ("/app/abc?version=beta", 4006), ("/app/abc?version=", 4006),
    ("/app/abc?version=1.0%20x", 4006),
    ("/app/abc?protocol=3", 4007), ("/app/abc?protocol=8", 4007), ("/app/abc?protocol=x", 4007),
    ("/app/abc?protocol=", 4007),
  ])
  func `everybody else is told why not`(target: String, expected: Int) {
    #expect(code(target) == expected)
  }

  @Test func `a full server says so`() {
    #expect(code("/app/abc") { $0.connections = 0 } == 4004)
  }

  @Test func `a full app says so, and another one has room`() {
    var small = Application(id: "1", key: "small", secret: "s")
    small.limits.connections = 1
    let applications = Applications(
      [small, Application(id: "2", key: "other", secret: "s")], random: SeededGenerator(seed: 1))
    func refusal(_ key: String) -> Int? {
      let head = HTTPRequestHead(method: "GET", target: "/app/\(key)")
      do throws(ProtocolRefusal) {
        _ = try applications.admit(head)
        return nil
      } catch {
        #expect(error.reason == "the app has at most 1 connections")
        return error.code?.rawValue
      }
    }
    #expect(refusal("small") == nil)
    let client = HubClient(applications.hubs[0], "1.1")
    #expect(refusal("small") == 4004 && refusal("other") == nil)
    client.lose()
    #expect(refusal("small") == nil)
  }

  @Test func `socket ids are two numbers and never the same`() {
    let applications = Applications([.forTests()], random: SeededGenerator(seed: 3))
    var ids: Set<String> = []
    for _ in 0..<1000 {
      let id = applications.newSocketID()
      #expect(SocketID.isValid(id))
      ids.insert(id)
    }
    #expect(ids.count == 1000)
  }
}

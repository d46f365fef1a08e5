import PusherCore
import TestSupport
import Testing

struct `Services and their names` {
  @Test func `hosts are those of the cluster, or of apps that name none`() {
    #expect(PusherService.pusher.host(cluster: "eu") == "ws-eu.pusher.com")
    #expect(PusherService.pusher.apiHost(cluster: "eu") == "api-eu.pusher.com")
    #expect(PusherService.pusher.host(cluster: nil) == "ws-mt1.pusher.com")
    #expect(PusherService.pusher.apiHost(cluster: nil) == "api-mt1.pusher.com")
    #expect(PusherService.eventflit.host(cluster: "eu") == "ws-eu.eventflit.com")
    #expect(PusherService.eventflit.host(cluster: nil) == "service.eventflit.com")
    #expect(PusherService.eventflit.apiHost(cluster: nil) == "service.eventflit.com")
  }

  @Test func `what both prefixes begin with marks a service's own events`() {
    #expect(PusherService.pusher.commonPrefix == "pusher")
    var other = PusherService.pusher
    other.internalPrefix = "x:"
    #expect(other.commonPrefix == "")
  }

  @Test func `the socket's target carries protocol, client and version`() {
    #expect(
      PusherService.pusher.socketURL(
        isSecure: true, host: "h", port: nil, prefix: "/p", key: "k", clientName: "n",
        version: "1.0"
      ).target == "/p/app/k?protocol=7&client=n&version=1.0")
  }

  @Test func `a session speaks the names of its service`() throws {
    var harness = SessionHarness(SessionOptions(service: .eventflit), channels: ["private-a", "b"])
    harness.dial()
    let greeting = #"{"event":"eventflit:connection_established","data":"{\"socket_id\":\"1.2\"}"}"#
    let outputs = harness.receive(greeting)
    #expect(outputs.contains(.send(#"{"event":"eventflit:subscribe","data":{"channel":"b"}}"#)))
    harness.sign(outputs.requests)
    for channel in ["private-a", "b"] {
      harness.receive(
        #"{"event":"eventflit_internal:subscription_succeeded","channel":"\#(channel)","data":{}}"#)
    }
    #expect(harness.session.isFullySubscribed)
    // In this session, another service's event names are ordinary names of the application.
    #expect(harness.receive(#"{"event":"pusher:ping","data":{}}"#).isEmpty)
    #expect(
      harness.receive(#"{"event":"eventflit:ping","data":{}}"#)
        == [.answerPing(#"{"event":"eventflit:pong","data":{}}"#)])
  }

  @Test func `the fast way leaves the service's own events to the general one`() {
    for service in [PusherService.pusher, .eventflit] {
      let transcoder = EventTranscoder(
        protocolPrefix: service.commonPrefix, reservedPrefix: "pusher-cli:")
      func isUnusual(_ event: String) -> Bool {
        withView(Array(#"{"event":"\#(event)","channel":"c","data":"{}"}"#.utf8)) {
          transcoder.append(
            $0, to: ByteBuffer(), leading: LeadingMembers(), terminator: 0x0A, filter: nil)
            == .unusual
        }
      }
      #expect(isUnusual(service.eventPrefix + "cache_miss"))
      #expect(isUnusual(service.internalPrefix + "member_added"))
      #expect(!isUnusual("order"))
    }
  }
}

import PusherCore
import Testing

/// Pusher's pages "HTTP API reference" and "Webhooks".
@Suite("Calls that inspect, batches and webhooks")
struct InspectRequestTests {
  private let key = "278d425bdf160c739803"
  private let secret = "7ad3773142a6692b25b8"

  @Test func `the list of channels is asked for with the documented signature`() {
    let call = APIRequest.channels(appID: "3", filter: "presence-", info: ["user_count"])
    let signed = call.signed(key: key, secret: secret, timestamp: 1_353_088_179)
    #expect(signed.method == "GET" && signed.path == "/apps/3/channels")
    #expect(
      signed.stringToSign
        == "GET\n/apps/3/channels\nauth_key=\(key)&auth_timestamp=1353088179&auth_version=1.0"
        + "&filter_by_prefix=presence-&info=user_count")
    #expect(
      signed.query.contains(
        "auth_signature=16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291"))
    #expect(signed.body == nil)
  }

  @Test func `names are escaped in paths`() {
    #expect(
      APIRequest.users(of: "presence-a=b", appID: "3").path
        == "/apps/3/channels/presence-a%3Db/users")
    #expect(
      APIRequest.channel("a,b", appID: "3", info: ["cache", "subscription_count"]).parameters
        == [.init("info", "cache,subscription_count")])
    let terminate = APIRequest.terminate(user: "a/b", appID: "3")
    #expect(terminate.path == "/apps/3/users/a%2Fb/terminate_connections")
    #expect(terminate.method == "POST" && terminate.body == Array("{}".utf8))
  }

  @Test func `a batch has one channel an event`() throws {
    let events = [
      PusherAPI.Event(name: "a", channel: "c", data: #"{"n":1.10}"#),
      PusherAPI.Event(name: "b", channel: "d", data: "x", socketID: "1.2"),
    ]
    let call = try APIRequest.batch(events, appID: "3")
    #expect(call.path == "/apps/3/batch_events")
    #expect(
      String(decoding: call.body ?? [], as: UTF8.self)
        == #"{"batch":[{"name":"a","channel":"c","data":"{\"n\":1.10}"},"#
        + #"{"name":"b","channel":"d","data":"x","socket_id":"1.2"}]}"#)
  }

  @Test func `a batch with an impossible event is not even sent`() {
    let event = PusherAPI.Event(name: "a", channel: "no spaces", data: "")
    #expect(throws: TriggerError.self) { try APIRequest.batch([event], appID: "3") }
  }

  @Test func `a webhook's signature is that of the documented body`() {
    let body = Array(
      #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
        .utf8)
    let signature = "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf"
    #expect(WebhookSignature.sign(body, secret: secret) == signature)
    #expect(WebhookSignature.isValid(signature, of: body, secret: secret))
    #expect(!WebhookSignature.isValid(signature, of: body + [0x20], secret: secret))
    #expect(!WebhookSignature.isValid("", of: body, secret: secret))
  }
}

import PusherCore
import Testing

private let key = "278d425bdf160c739803"
private let secret = "7ad3773142a6692b25b8"

/// Pusher's pages "HTTP API reference" and "Webhooks".
struct `HTTP API: signatures, calls that inspect, batches and webhooks` {
  private let body = #"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#

  @Test func `a POST is signed with the digest of its body`() {
    let request = APIRequest(method: "POST", path: "/apps/3/events", body: Array(body.utf8))
    let signed = request.signed(key: key, secret: secret, timestamp: 1_353_088_179)
    #expect(
      signed.stringToSign
        == "POST\n/apps/3/events\nauth_key=278d425bdf160c739803&auth_timestamp=1353088179"
        + "&auth_version=1.0&body_md5=ec365a775a4cd0599faeb73354201b6f")
    #expect(
      signed.target
        == "/apps/3/events?auth_key=278d425bdf160c739803"
        + "&auth_signature=da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c"
        + "&auth_timestamp=1353088179&auth_version=1.0"
        + "&body_md5=ec365a775a4cd0599faeb73354201b6f")
    #expect(signed.headers["Content-Type"] == "application/json")
  }

  @Test func `values are signed as they are and escaped on the wire`() {
    let request = APIRequest(
      method: "GET", path: "/apps/3/channels",
      parameters: [.init("info", "user_count,subscription_count")])
    let signed = request.signed(key: key, secret: secret, timestamp: 1)
    #expect(signed.stringToSign.hasSuffix("&info=user_count,subscription_count"))
    #expect(signed.query.hasSuffix("&info=user_count%2Csubscription_count"))
  }

  @Test func `names are signed in lower case and in order, the signature left out`() {
    let text = APIRequestSignature.stringToSign(
      method: "GET", path: "/x",
      parameters: [("b", "2"), ("Auth_Signature", "no"), ("A", "1"), ("auth_signature", "no")])
    #expect(text == "GET\n/x\na=1&b=2")
  }

  @Test func `another path can be signed than is asked for`() {
    let request = APIRequest(method: "GET", path: "/apps/3/channels")
    let signed = request.signed(
      key: key, secret: secret, timestamp: 1, prefix: "/own", stripped: "/proxy")
    #expect(signed.stringToSign.hasPrefix("GET\n/own/apps/3/channels\n"))
    #expect(signed.target.hasPrefix("/proxy/own/apps/3/channels?"))
  }

  @Test func `a signature holds for its text and secret only`() {
    let signature = APIRequestSignature.sign("text", secret: "s")
    let tried = [
      (signature, "text", "s"), (signature, "Text", "s"), (signature, "text", "t"),
      (signature.uppercased(), "text", "s"), ("", "text", "s"),
    ]
    #expect(
      tried.map { APIRequestSignature.isValid($0, of: $1, secret: $2) }
        == [true, false, false, false, false])
  }

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
    #expect(signed.body == nil && signed.headers["Content-Type"] == nil)
  }

  @Test func `a channel's name is escaped in a path`() {
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

  @Test func `a batch has one channel an event, and is not made of an impossible event`() throws {
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
    let impossible = PusherAPI.Event(name: "a", channel: "no spaces", data: "")
    #expect(throws: TriggerError.self) { try APIRequest.batch([impossible], appID: "3") }
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

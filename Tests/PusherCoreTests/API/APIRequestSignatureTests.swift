import PusherCore
import Testing

private let key = "278d425bdf160c739803"
private let secret = "7ad3773142a6692b25b8"

@Suite("HTTP API, section Authentication")
struct APIRequestSignatureTests {
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

  @Test func `a GET is signed with its parameters and without a digest`() {
    let request = APIRequest(
      method: "GET", path: "/apps/3/channels",
      parameters: [.init("info", "user_count"), .init("filter_by_prefix", "presence-")])
    let signed = request.signed(key: key, secret: secret, timestamp: 1_353_088_179)
    #expect(
      signed.query.contains(
        "auth_signature=16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291"))
    #expect(!signed.query.contains("body_md5"))
    #expect(signed.headers["Content-Type"] == nil)
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
    #expect(APIRequestSignature.isValid(signature, of: "text", secret: "s"))
    #expect(!APIRequestSignature.isValid(signature, of: "Text", secret: "s"))
    #expect(!APIRequestSignature.isValid(signature, of: "text", secret: "t"))
    #expect(!APIRequestSignature.isValid(signature.uppercased(), of: "text", secret: "s"))
    #expect(!APIRequestSignature.isValid("", of: "text", secret: "s"))
  }
}

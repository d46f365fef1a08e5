internal import PusherCore

/// A call of the HTTP API by another program, to sign or to verify.
struct RequestSigning {
  let method: String
  /// Path and query of the request line.
  let target: String
  let body: String?
  let key: String
  let secret: String

  private var path: String { String(target.prefix { $0 != "?" }) }

  /// The decoded parameters of the query; invalid escapes stay.
  private var parameters: [(name: String, value: String)] {
    target.dropFirst(path.count + 1).split(separator: "&").map { pair in
      let name = pair.prefix { $0 != "=" }
      let value = pair.dropFirst(name.count + 1)
      return (Self.decoded(name), Self.decoded(value))
    }
  }

  private static func decoded(_ text: Substring) -> String {
    PercentEncoding.decodeForm(Array(text.utf8)[...]) ?? String(text)
  }

  func signed(at seconds: Int64) -> JSONValue {
    let own = parameters.filter {
      !$0.name.lowercased().hasPrefix("auth_") && $0.name != "body_md5"
    }
    let call = APIRequest(
      method: method, path: path, parameters: own.map { APIRequest.Parameter($0.name, $0.value) },
      body: body.map { Array($0.utf8) })
    let signed = call.signed(key: key, secret: secret, timestamp: seconds)
    return .object(texts: [
      "string_to_sign": signed.stringToSign,
      "signature": APIRequestSignature.sign(signed.stringToSign, secret: secret),
      "target": signed.target,
    ])
  }

  /// Verifies the signature, and lists all mistakes of the request.
  func verified(at seconds: Int64) -> JSONValue {
    let all = parameters
    func value(_ name: String) -> String? { all.first { $0.name.lowercased() == name }?.value }
    let text = APIRequestSignature.stringToSign(method: method, path: path, parameters: all)
    var problems: [String] = []
    if !APIRequestSignature.isValid(value("auth_signature") ?? "", of: text, secret: secret) {
      problems.append(value("auth_signature") == nil ? "no auth_signature" : "wrong signature")
    }
    if value("auth_key") != key { problems.append("auth_key is not the app's") }
    let digest = body.map { APIRequestSignature.bodyDigest(Array($0.utf8)) }
    if let digest, value("body_md5") != digest { problems.append("body_md5 is not the body's") }
    let tolerance = APIRequestSignature.timestampTolerance
    let accepted = seconds - tolerance...seconds + tolerance
    if value("auth_timestamp").flatMap({ Int64($0) }).map(accepted.contains) != true {
      problems.append("auth_timestamp is more than 600 s off")
    }
    return [
      "valid": .bool(problems.isEmpty), "problems": .array(problems.map(JSONValue.string)),
      "string_to_sign": .string(text),
    ]
  }
}

internal import PusherCore

/// `auth`, `sign` and `verify` need no server.
extension SignSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    if case .request(let method, let target, let body) = subject {
      let bytes = body.map { Array($0.utf8) }
      let now = SystemClock.wall().secondsSince1970
      return command == .sign
        ? print(signed(method, target, bytes, at: timestamp ?? now), diagnostics)
        : verdict(verified(method, target, bytes, at: now), diagnostics)
    }
    let (text, right, answer) = claim
    switch command {
    case .auth: return print(answer, diagnostics)
    case .sign:
      let signed: [JSONValue.Member] = [
        .init("string_to_sign", .string(text)), .init("signature", .string(right)),
      ]
      return print(.object(signed + (answer.members ?? [])), diagnostics)
    default:
      // A whole token, `key:signature`, is accepted too.
      let hex = signature?.split(separator: ":").last.map(String.init) ?? ""
      let isValid = Digest.equalInConstantTime(Array(hex.lowercased().utf8), Array(right.utf8))
      return verdict(["valid": .bool(isValid), "string_to_sign": .string(text)], diagnostics)
    }
  }

  private func print(_ value: JSONValue, _ diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.print(JSONWriter.text(value) + "\n")
  }

  private func verdict(_ value: JSONValue, _ diagnostics: Diagnostics) -> ExitStatus {
    let isValid = value["valid"] == true
    let printed = print(value, diagnostics)
    return printed == .success && !isValid ? .unauthorized : printed
  }

  /// The signed text of a subscription, a sign-in or a webhook, and its signature.
  ///
  /// `answer` is that of an authorisation endpoint; empty for webhooks, which sign in a header.
  private var claim: (text: String, signature: String, answer: JSONValue) {
    let signer = SubscriptionSignature(key: key, secret: secret.revealed)
    var token: String?
    let (text, answer): (String, JSONValue)
    switch subject {
    case .channel(let channel, let socketID, let data):
      token = signer.authorize(socketID: socketID, channel: channel, channelData: data).auth
      text = SubscriptionSignature.stringToSign(
        socketID: socketID, channel: channel, channelData: data)
      answer = .object(texts: [
        "auth": token, "channel_data": data,
        "shared_secret": encryptionKey?.sharedSecret(channel: channel),
      ])
    case .user(let socketID, let data):
      token = signer.signIn(socketID: socketID, userData: data)
      text = SubscriptionSignature.stringToSign(socketID: socketID, userData: data)
      answer = .object(texts: ["auth": token, "user_data": data])
    case .webhook(let body), .request(_, _, let body?):
      text = body
      answer = [:]
    case .request:
      text = ""
      answer = [:]
    }
    let signature =
      token.map { $0.dropping(prefix: key + ":") ?? $0 }
      ?? WebhookSignature.sign(Array(text.utf8), secret: secret.revealed)
    return (text, signature, answer)
  }

  // MARK: Calls of the HTTP API

  /// Returns the path of a request line's target, and the decoded parameters of its query; invalid
  /// escapes stay.
  private static func parts(
    of target: String
  ) -> (path: String, parameters: [(name: String, value: String)]) {
    func decoded(_ text: Substring) -> String {
      PercentEncoding.decodeForm(String(text)) ?? String(text)
    }
    let path = target.prefix { $0 != "?" }
    let pairs = target.dropFirst(path.count + 1).split(separator: "&")
    return (
      String(path),
      pairs.map { pair in
        let name = pair.prefix { $0 != "=" }
        return (decoded(name), decoded(pair.dropFirst(name.count + 1)))
      }
    )
  }

  private func signed(
    _ method: String, _ target: String, _ body: [UInt8]?, at seconds: Int64
  ) -> JSONValue {
    let (path, parameters) = Self.parts(of: target)
    let own = parameters.filter {
      !$0.name.lowercased().hasPrefix("auth_") && $0.name != "body_md5"
    }
    let call = APIRequest(
      method: method, path: path, parameters: own.map { APIRequest.Parameter($0.name, $0.value) },
      body: body)
    let signed = call.signed(key: key, secret: secret.revealed, timestamp: seconds)
    return .object(texts: [
      "string_to_sign": signed.stringToSign,
      "signature": APIRequestSignature.sign(signed.stringToSign, secret: secret.revealed),
      "target": signed.target,
    ])
  }

  /// Verifies the signature, and lists all mistakes of the request.
  private func verified(
    _ method: String, _ target: String, _ body: [UInt8]?, at seconds: Int64
  ) -> JSONValue {
    let (path, all) = Self.parts(of: target)
    func value(_ name: String) -> String? { all.first { $0.name.lowercased() == name }?.value }
    let text = APIRequestSignature.stringToSign(method: method, path: path, parameters: all)
    var problems: [String] = []
    if !APIRequestSignature.isValid(
      value("auth_signature") ?? "", of: text, secret: secret.revealed)
    {
      problems.append(value("auth_signature") == nil ? "no auth_signature" : "wrong signature")
    }
    if value("auth_key") != key { problems.append("auth_key is not the app's") }
    let digest = body.map(APIRequestSignature.bodyDigest)
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

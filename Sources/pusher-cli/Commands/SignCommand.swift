internal import PusherCore

/// `auth`, `sign` and `verify` need no server.
extension SignSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    if case .request(let method, let target, let body) = subject {
      let request = RequestSigning(
        method: method, target: target, body: body, key: key, secret: secret.revealed)
      let now = SystemClock.wall().secondsSince1970
      return task == .sign
        ? print(request.signed(at: timestamp ?? now), diagnostics)
        : verdict(request.verified(at: now), diagnostics)
    }
    let claim = Claim(self)
    switch task {
    case .authorize: return print(claim.answer, diagnostics)
    case .sign: return print(claim.signed, diagnostics)
    case .verify(let given):
      // A whole token, `key:signature`, is accepted too.
      let hex = given?.split(separator: ":").last.map(String.init) ?? ""
      let isValid = Digest.equalInConstantTime(
        Array(hex.lowercased().utf8), Array(claim.signature.utf8))
      return verdict(["valid": .bool(isValid), "string_to_sign": .string(claim.text)], diagnostics)
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
}

/// The signature for a subscription, a sign-in or a webhook.
private struct Claim {
  let text: String
  let signature: String
  /// The answer of an authorisation endpoint; empty for webhooks, which sign in a header.
  let answer: JSONValue

  init(_ settings: SignSettings) {
    let signer = SubscriptionSignature(key: settings.key, secret: settings.secret.revealed)
    var token: String?
    switch settings.subject {
    case .channel(let channel, let socketID, let data):
      token = signer.authorize(socketID: socketID, channel: channel, channelData: data).auth
      text = SubscriptionSignature.stringToSign(
        socketID: socketID, channel: channel, channelData: data)
      answer = .object(texts: [
        "auth": token, "channel_data": data,
        "shared_secret": settings.encryptionKey?.sharedSecret(channel: channel),
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
    signature =
      token.map { $0.dropping(prefix: settings.key + ":") ?? $0 }
      ?? WebhookSignature.sign(Array(text.utf8), secret: settings.secret.revealed)
  }

  var signed: JSONValue {
    .object(
      [.init("string_to_sign", .string(text)), .init("signature", .string(signature))]
        + (answer.members ?? []))
  }
}

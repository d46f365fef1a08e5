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
    let (text, signature, answer) = claim
    switch task {
    case .authorize: return print(answer, diagnostics)
    case .sign:
      let signed: [JSONValue.Member] = [
        .init("string_to_sign", .string(text)), .init("signature", .string(signature)),
      ]
      return print(.object(signed + (answer.members ?? [])), diagnostics)
    case .verify(let given):
      // A whole token, `key:signature`, is accepted too.
      let hex = given?.split(separator: ":").last.map(String.init) ?? ""
      let isValid = Digest.equalInConstantTime(
        Array(hex.lowercased().utf8), Array(signature.utf8))
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
}

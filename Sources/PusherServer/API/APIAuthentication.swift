internal import PusherCore

// Who makes an API call.
extension APIRouter {
  /// The refusal; `nil` when the call is the app's own.
  func refusal(
    _ request: HTTPRequestReader.Request, _ target: RequestTarget, for application: Application,
    seconds: Int64
  ) -> HTTPAnswer? {
    guard let key = target["auth_key"], let given = target["auth_signature"] else {
      return .refusal(401, "auth_key and auth_signature are needed to make this call")
    }
    guard key.isSame(as: application.key) else {
      return .refusal(401, "Unknown auth_key: this is not the key of app \(application.id)")
    }
    guard target["auth_version"] == APIRequestSignature.version else {
      return .refusal(401, "auth_version is not \(APIRequestSignature.version)")
    }
    if let refusal = timestampRefusal(target, seconds) ?? bodyRefusal(target, request.body) {
      return refusal
    }
    let pathPrefix = applications.pathPrefix
    // With a prefix, some libraries sign the path as they send it, others without what a proxy strips.
    let paths =
      pathPrefix.isEmpty
      ? [target.path] : [target.path, target.path.dropping(prefix: pathPrefix) ?? target.path]
    let texts = paths.map {
      APIRequestSignature.stringToSign(
        method: request.head.method, path: $0, parameters: target.parameters)
    }
    let isValid = texts.contains {
      APIRequestSignature.isValid(given, of: $0, secret: application.secret)
    }
    guard !isValid else { return nil }
    let shown = JSONWriter.text(.string(texts[0]))
    return .refusal(
      401,
      "Invalid signature: you should have sent HmacSHA256Hex(\(shown), your_secret_key), "
        + "but you sent \(JSONWriter.text(.string(given)))")
  }

  private func timestampRefusal(_ target: RequestTarget, _ seconds: Int64) -> HTTPAnswer? {
    guard let text = target["auth_timestamp"], let timestamp = Int64(text) else {
      return .refusal(401, "auth_timestamp is not a number of seconds since 1970")
    }
    let tolerance = APIRequestSignature.timestampTolerance
    guard dialect.has(.checksTimestamps) else { return nil }
    guard (seconds - tolerance...seconds + tolerance).contains(timestamp) else {
      return .refusal(
        401,
        "Timestamp expired: Given timestamp (\(timestamp)) not within \(tolerance)s "
          + "of server time (\(seconds))")
    }
    return nil
  }

  private func bodyRefusal(_ target: RequestTarget, _ body: [UInt8]) -> HTTPAnswer? {
    let digest = APIRequestSignature.bodyDigest(body)
    guard let given = target["body_md5"] else {
      return body.isEmpty ? nil : .refusal(401, "body_md5 is needed for a call with a body")
    }
    guard given.lowercased() == digest else {
      return .refusal(401, "Invalid body_md5: the body's MD5 is \(digest)")
    }
    return nil
  }
}

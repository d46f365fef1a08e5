import PusherCore
import PusherLines
import TestSupport

/// Checks single fields: URLs, extensions, patterns, encodings, numbers, answers of signers.
///
/// Input: a byte that names the field, then its text. A parsed field must be written as text that
/// parses alike.
func fuzzFields(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let field = input.byte()
  let bytes = input.bytes
  let text = text(bytes)
  switch field % 12 {
  case 0: checkURL(text)
  case 1: checkExtensions(text)
  case 2: checkEncodings(text, bytes)
  case 3: checkGlob(text)
  case 4: checkUTF8(bytes)
  case 5: checkJSON(text)
  case 6: checkHeaders(text)
  case 8: checkReference(text)
  case 9: checkProxy(text)
  case 10: checkRetryAfter(text)
  case 11: checkPin(text)
  default:
    _ = ChannelName.problem(in: text)
    _ = try? Authorization(bytes, forChannel: true)
    let counts = ChannelName.problem(in: text) == nil
    require(!counts || (1...200).contains(text.utf8.count), "a channel's length")
  }
  return 0
}

private func lines(_ text: String, _ most: Int = .max) -> [String] {
  text.split(separator: "\n", maxSplits: most - 1, omittingEmptySubsequences: false)
    .map(String.init)
}

private func checkURL(_ text: String) {
  guard let url = try? HTTPURL(parsing: text) else { return }
  requireSame(url)
  require((1...65_535).contains(url.port) && url.path.hasPrefix("/"), "\(url)")
  let handshake = ClientHandshake(url: url, deflate: true, key: Array("the sample nonce".utf8))
  guard let request = try? handshake.request() else { return }
  let input = buffer(request)
  let head = try? HTTPHeadParser.request(from: input)
  require(head?.target == url.target && input.isEmpty, "a URL that breaks its request: \(url)")
  require(head?.headers.all("Host") == [url.authority], "a URL that breaks its Host: \(url)")
}

private func requireSame(_ url: HTTPURL) {
  let user = url.userInfo.map { "\($0)@" } ?? ""
  let again = try? HTTPURL(parsing: "\(url.scheme.rawValue)://\(user)\(url.authority)\(url.target)")
  require(again == url, "written and read again: \(url)")
}

private func checkExtensions(_ text: String) {
  let fields = lines(text)
  if let accepted = try? PerMessageDeflate.accept(fields) { check(accepted) }
  guard let chosen = PerMessageDeflate.choose(from: fields) else { return }
  check(chosen.parameters)
  let answered = try? PerMessageDeflate.accept([chosen.answer])
  require(answered == chosen.parameters, "answered \(chosen.answer) to \(text)")
}

private func check(_ parameters: PerMessageDeflate) {
  for role in [WebSocketConnection.Role.client, .server] {
    require((8...15).contains(parameters.outgoing(from: role).windowBits), "\(parameters)")
  }
}

private func checkEncodings(_ text: String, _ bytes: [UInt8]) {
  let decoded = PercentEncoding.decode(PercentEncoding.encode(text)) ?? ""
  require(decoded.utf8.elementsEqual(text.utf8), "percent: \(text)")
  _ = PercentEncoding.decode(text)
  require(Base64.decode(Base64.encode(bytes)) == bytes, "base64: \(bytes)")
  if let decoded = Base64.decode(text) {
    require(Base64.decode(Base64.encode(decoded)) == decoded, "base64: \(text)")
  }
}

/// The first line is the pattern, the second a name; the reference tries every split.
private func checkGlob(_ text: String) {
  let parts = lines(text, 2)
  // More than one machine word of states.
  let pattern = String(parts[0].unicodeScalars.prefix(150))
  let name = String((parts.count > 1 ? parts[1] : "").unicodeScalars.prefix(64))
  let matches = Glob(pattern).matches(name)
  let isSame = withView(Array(name.utf8)) { Glob(pattern).matches($0) } == matches
  require(isSame, "'\(pattern)' on '\(name)' as bytes")
  let isPlain = pattern.unicodeScalars.allSatisfy { $0 != "[" && $0 != "\\" }
  guard isPlain, pattern.unicodeScalars.count(where: { $0 == "*" }) < 4 else { return }
  let expected = globReference(Array(pattern.unicodeScalars)[...], Array(name.unicodeScalars)[...])
  require(matches == expected, "'\(pattern)' on '\(name)' is \(matches)")
}

private func globReference(
  _ pattern: ArraySlice<Unicode.Scalar>, _ name: ArraySlice<Unicode.Scalar>
) -> Bool {
  guard let first = pattern.first else { return name.isEmpty }
  if first == "*" {
    return (name.startIndex...name.endIndex).contains {
      globReference(pattern.dropFirst(), name[$0...])
    }
  }
  guard let character = name.first, first == "?" || first == character else { return false }
  return globReference(pattern.dropFirst(), name.dropFirst())
}

/// Compares the validator, in pieces and at once, with the standard library's.
private func checkUTF8(_ bytes: [UInt8]) {
  let isValid = String(validating: bytes.dropFirst(), as: UTF8.self) != nil
  let message = Array(bytes.dropFirst())
  require(withView(message) { UTF8Validator.isValid($0) } == isValid, "UTF-8: \(message)")
  var validator = UTF8Validator()
  let isFine = pieces(of: message, cut: bytes.first ?? 0).allSatisfy { piece in
    withView(piece) { validator.feed($0) }
  }
  require((isFine && validator.isComplete) == isValid, "UTF-8 in pieces: \(message)")
}

private func checkJSON(_ text: String) {
  _ = try? FieldPath(text)
  guard let value = try? JSONParser.parse(text) else {
    let reference = ReferenceJSON(Array(text.utf8))
    require((reference?.depth ?? 251) > 250, "JSON that was refused: \(text)")
    return
  }
  let written = JSONWriter.text(value)
  requireJSON(Array(written.utf8), "a written text")
  require(
    ReferenceJSON(Array(written.utf8)) == ReferenceJSON(Array(text.utf8)), "\(text) as \(written)")
  checkFields(of: value, in: written)
}

/// Each member is found by its name, the last of repeated ones.
private func checkFields(of value: JSONValue, in text: String) {
  guard case .object(let members) = value else { return }
  for member in members.prefix(8) {
    guard let path = try? FieldPath(member.name),
      path.text.utf8.allSatisfy({ $0 != 0x2E && $0 != 0x5B })
    else { continue }
    let found = withView(Array(text.utf8)) { view in
      path.value(in: view).flatMap { try? JSONParser.parse($0) }
    }
    require(found == value[member.name], "'\(member.name)' in \(text)")
  }
}

private func checkHeaders(_ text: String) {
  let headers = HTTPHeaders([("a", text), ("A", text)])
  require(headers.tokens("a").count == 2 * HTTPHeaders([("a", text)]).tokens("a").count, "tokens")
  _ = headers.list("A")
}

/// The first line is a URL, the second a reference in it.
private func checkReference(_ text: String) {
  let parts = lines(text, 2)
  guard parts.count > 1, let base = try? HTTPURL(parsing: parts[0]) else { return }
  var trail = RedirectTrail(url: base)
  for _ in 0...RedirectTrail.limit {
    let before = trail
    do throws(RedirectError) {
      try trail.follow(location: parts[1])
    } catch {
      require(trail == before, "an error that moves")
      return
    }
    require(!base.isSecure || trail.url.isSecure, "from wss to \(trail.url)")
    require(!trail.url.path.contains("/../"), "a path with dots: \(trail.url)")
    requireSame(trail.url)
    guard trail.hasLeftOrigin else { continue }
    let kept = trail.headers(HTTPHeaders([("Authorization", "x"), ("cookie", "y"), ("A", "z")]))
    require(kept == HTTPHeaders([("A", "z")]), "secrets that travel: \(kept)")
  }
  finding("more redirects than the limit")
}

/// The first line is a proxy's URL, the second exceptions, the third a host.
private func checkProxy(_ text: String) {
  let parts = lines(text, 3)
  if let proxy = try? Proxy(parsing: parts[0]) {
    let plain = Proxy(kind: proxy.kind, host: proxy.host, port: proxy.port)
    require((try? Proxy(parsing: proxy.description)) == plain, "written and read again: \(proxy)")
  }
  guard parts.count > 2 else { return }
  let exceptions = ProxyExceptions(String(parts[1].prefix(500)))
  let isException = exceptions.contains(host: parts[2], port: 443)
  require(!isException || !parts[1].isEmpty, "an exception out of nothing")
  let everything = ProxyExceptions(parts[1] + ",*")
  require(everything.contains(host: parts[2], port: 443), "everything, and not \(parts[2])")
}

private func checkRetryAfter(_ text: String) {
  let now = WallTime(millisecondsSince1970: 1_795_000_000_000)
  guard let wait = HTTPDate.wait(text, now: now) else { return }
  require(wait >= .zero, "a wait of \(wait)")
  _ = wait.wholeNanoseconds
}

private func checkPin(_ text: String) {
  guard let pin = PublicKeyPin(text) else { return }
  require(PublicKeyPin(pin.description) == pin, "a pin: \(text)")
}

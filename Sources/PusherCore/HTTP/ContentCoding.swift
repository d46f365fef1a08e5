extension HTTPHeaders {
  /// Returns the decoder of a body with these fields; `nil` for a body without a coding.
  package func contentDecoder() throws(HTTPError) -> ContentDecoder? {
    let codings = tokens("Content-Encoding").filter { $0 != "identity" }
    guard let coding = codings.first else { return nil }
    guard codings.count == 1, let decoder = ContentDecoder(coding: coding) else {
      throw .unknownCoding(codings.joined(separator: ", "))
    }
    return decoder
  }

  /// Returns a received body without its content coding and its byte order mark.
  ///
  /// Servers compress answers unasked, and some do not say so. `body` may be cut; the result is
  /// cut at `limit` bytes if `isCut`, and is otherwise an error.
  package func decoded(_ body: [UInt8], limit: Int, isCut: Bool = false) throws(HTTPError)
    -> [UInt8]
  {
    var bytes = body
    let isUnnamed = body.starts(with: [0x1F, 0x8B, 0x08]) && self["Content-Encoding"] == nil
    if let decoder = isUnnamed ? ContentDecoder(coding: "gzip") : try contentDecoder() {
      let (input, output) = (ByteBuffer(capacity: body.count), ByteBuffer())
      input.append(body)
      do throws(ContentDecoder.InvalidData) {
        while output.count <= limit,
          try decoder.decode(from: input, into: output, atMost: 65_536)
        {}
      } catch { throw .invalidCoding }
      guard isCut || output.count <= limit else { throw .bodyTooLarge(limit: limit) }
      bytes = output.array
    }
    return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
  }
}

extension HTTPRequestHead {
  /// True if the response may be gzip (RFC 9110 section 12.5.3); false without `Accept-Encoding`.
  package var takesGzip: Bool {
    var others = false
    for choice in headers.tokens("Accept-Encoding") {
      let parts = choice.split(separator: ";", maxSplits: 1).map { ASCII.trimmed($0) }
      let isWanted = parts.count == 1 || !Self.isZero(parts[1])
      switch parts.first {
      case "gzip", "x-gzip": return isWanted
      case "*": others = isWanted
      default: break
      }
    }
    return others
  }

  /// Returns whether a weight means "not acceptable": `q=0`, with at most three decimal zeros.
  private static func isZero(_ weight: String) -> Bool {
    ["q=0", "q=0.", "q=0.0", "q=0.00", "q=0.000"].contains { weight.isSame(as: $0) }
  }
}

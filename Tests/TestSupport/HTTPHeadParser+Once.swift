package import PusherCore

extension HTTPHeadParser {
  /// Takes one response head off the front of `buffer`; `nil` while it is incomplete.
  package static func response(
    from buffer: ByteBuffer, limits: HTTPHeadLimits = HTTPHeadLimits()
  ) throws(HTTPError) -> HTTPResponseHead? {
    var parser = HTTPHeadParser(limits: limits)
    return try parser.response(from: buffer)
  }

  /// Takes one request head off the front of `buffer`; `nil` while it is incomplete.
  package static func request(
    from buffer: ByteBuffer, limits: HTTPHeadLimits = HTTPHeadLimits()
  ) throws(HTTPError) -> HTTPRequestHead? {
    var parser = HTTPHeadParser(limits: limits)
    return try parser.request(from: buffer)
  }
}

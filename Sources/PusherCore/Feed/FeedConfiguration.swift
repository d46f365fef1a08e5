/// Options of a WebSocket request, besides its ``Destination``.
package struct WebSocketSettings: Sendable, Equatable {
  /// Subprotocols to offer, the preferred one first; most servers need none.
  package var subprotocols: [String]
  /// The offer of permessage-deflate, as in `Sec-WebSocket-Extensions`; `nil` for none.
  package var compressionOffer: String?
  package var limits: WebSocketLimits

  package init(
    subprotocols: [String] = [], compressionOffer: String? = PerMessageDeflate.offer,
    limits: WebSocketLimits = WebSocketLimits()
  ) {
    (self.subprotocols, self.compressionOffer) = (subprotocols, compressionOffer)
    self.limits = limits
  }
}

/// Options of a request for an event stream, besides its ``Destination``.
///
/// The destination's user information becomes Basic authorisation. Its fields replace the standard
/// fields.
package struct EventStreamSettings: Sendable, Equatable {
  package var method: String
  package var body: [UInt8]
  package var acceptsCompression: Bool
  package var accepts: AcceptedAnswers
  package var limits: EventStreamLimits

  package init(
    method: String = "GET", body: [UInt8] = [], acceptsCompression: Bool = false,
    accepts: AcceptedAnswers = .eventStream, limits: EventStreamLimits = EventStreamLimits()
  ) {
    (self.method, self.body, self.acceptsCompression) = (method, body, acceptsCompression)
    (self.accepts, self.limits) = (accepts, limits)
  }

  /// Returns the request for the stream after `lastEventID`, which a field can hold (HTML section
  /// 9.2.3).
  ///
  /// - Parameter dropsBody: True if a redirect changed the method to GET (RFC 9110 section 15.4).
  func request(
    _ trail: RedirectTrail, headers: HTTPHeaders, dropsBody: Bool, lastEventID: String
  ) -> HTTPExchange.Request {
    var fields = HTTPHeaders()
    var given = trail.headers(headers)
    given.remove("Last-Event-ID")
    func add(_ name: String, _ value: String) {
      if given[name] == nil { fields.append(name, value) }
    }
    add("Accept", accepts.accept)
    // As browsers do in the cache mode "no-store" (Fetch section 4.5).
    add("Cache-Control", "no-cache")
    if acceptsCompression { add("Accept-Encoding", "gzip, deflate") }
    if !lastEventID.isEmpty { add("Last-Event-ID", lastEventID) }
    for field in given.fields {
      let isOfBody = field.name.lowercased().begins(with: "content-")
      if !(dropsBody && isOfBody) { fields.append(field.name, field.value) }
    }
    return HTTPExchange.Request(
      method: dropsBody ? "GET" : method, url: trail.url, headers: fields,
      body: dropsBody ? [] : body)
  }
}

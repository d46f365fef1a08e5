/// Where a server is, the route to it, and the fields of the request.
package struct Destination: Sendable {
  /// The whole URL; its scheme decides about TLS.
  package var url: HTTPURL
  /// Sent with the request; credentials and Host do not follow a redirect to another server.
  package var headers: HTTPHeaders
  /// The routes to servers.
  package var routing: Routing
  package var tls: TLSConfiguration
  /// Where the environment says that authorities are found.
  package var trust: TLSEnvironment

  package init(
    url: HTTPURL, headers: HTTPHeaders = HTTPHeaders(), routing: Routing = Routing(),
    tls: TLSConfiguration = TLSConfiguration(), trust: TLSEnvironment = TLSEnvironment()
  ) {
    (self.url, self.headers, self.routing) = (url, headers, routing)
    (self.tls, self.trust) = (tls, trust)
  }

  /// The same with further fields, which replace others of their names.
  func adding(_ fields: HTTPHeaders) -> Destination {
    var destination = self
    for field in fields.fields { destination.headers.remove(field.name) }
    for field in fields.fields { destination.headers.append(field.name, field.value) }
    return destination
  }

  /// The TLS context for secure connections, shared with others of the loop; `nil` for a URL that is not secure.
  ///
  /// - Throws: ``TLSError`` when the trust roots cannot be read.
  func tlsContext(_ loop: EventLoop) throws(TLSError) -> TLSContext? {
    url.isSecure ? try loop.tlsContexts.client(tls, environment: trust) : nil
  }
}

/// The request of a WebSocket connection, besides its ``Destination``.
package struct WebSocketSettings: Sendable, Equatable {
  /// Offered with the upgrade, the preferred one first; most servers want none.
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

/// The request of an event stream, besides its ``Destination``; the user information there becomes Basic authorisation,
/// and its fields replace the standard ones.
package struct EventStreamSettings: Sendable, Equatable {
  package var method: String
  package var body: [UInt8]
  /// Whether the server may compress.
  package var acceptsCompression: Bool
  /// Whether an answer is read as an event stream whatever its Content-Type says.
  package var acceptsAnyType: Bool
  package var limits: EventStreamLimits

  package init(
    method: String = "GET", body: [UInt8] = [], acceptsCompression: Bool = false,
    acceptsAnyType: Bool = false, limits: EventStreamLimits = EventStreamLimits()
  ) {
    (self.method, self.body, self.acceptsCompression) = (method, body, acceptsCompression)
    (self.acceptsAnyType, self.limits) = (acceptsAnyType, limits)
  }

  /// The request for the stream after `lastEventID` (HTML section 9.2.3), to where the trail leads.
  ///
  /// After a redirect that is answered by a new request only (RFC 9110 section 15.4), a body is left out.
  func request(
    _ trail: RedirectTrail, headers: HTTPHeaders, dropsBody: Bool, lastEventID: String
  ) -> HTTPExchange.Request {
    var fields = HTTPHeaders()
    var given = trail.headers(headers)
    given.remove("Last-Event-ID")
    func add(_ name: String, _ value: String) {
      if given[name] == nil { fields.append(name, value) }
    }
    add("Accept", "text/event-stream")
    // As browsers do in the cache mode "no-store" (Fetch section 4.5).
    add("Cache-Control", "no-cache")
    if acceptsCompression { add("Accept-Encoding", "gzip, deflate") }
    // An ID that no field can hold cannot be sent back.
    if !lastEventID.isEmpty, lastEventID.utf8.allSatisfy(ASCII.isFieldValue) {
      add("Last-Event-ID", lastEventID)
    }
    for field in given.fields {
      let isOfBody = field.name.lowercased().begins(with: "content-")
      if !(dropsBody && isOfBody) { fields.append(field.name, field.value) }
    }
    return HTTPExchange.Request(
      method: dropsBody ? "GET" : method, url: trail.url, headers: fields,
      body: dropsBody ? [] : body)
  }
}

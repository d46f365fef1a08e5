/// Where an event stream is and how it is asked for.
package struct EventStreamConfiguration: Sendable {
  /// An `http` or `https` URL; user information becomes Basic authorisation.
  package var url: HTTPURL
  package var method: String
  /// Sent beside what an event stream needs; fields of the same name take the place of those.
  package var headers: HTTPHeaders
  package var body: [UInt8]
  /// Which way leads to the server.
  package var routing: Routing
  package var tls: TLSConfiguration
  /// Where the environment says that authorities are found.
  package var trust: TLSEnvironment
  /// Whether the server is told that it may compress.
  package var acceptsCompression: Bool
  package var limits: EventStreamLimits
  /// From the name's resolution to the answer's head, redirects included; its events may take as long as they like.
  package var connectTimeout: Duration

  package init(
    url: HTTPURL, method: String = "GET", headers: HTTPHeaders = HTTPHeaders(),
    body: [UInt8] = [], routing: Routing = Routing(), tls: TLSConfiguration = TLSConfiguration(),
    trust: TLSEnvironment = TLSEnvironment(), acceptsCompression: Bool = false,
    limits: EventStreamLimits = EventStreamLimits(), connectTimeout: Duration = .seconds(10)
  ) {
    self.url = url
    self.method = method
    self.headers = headers
    self.body = body
    self.routing = routing
    self.tls = tls
    self.trust = trust
    self.acceptsCompression = acceptsCompression
    self.limits = limits
    self.connectTimeout = connectTimeout
  }

  /// The request for the stream behind `lastEventID` (HTML section 9.2.3), as the trail leads it.
  ///
  /// After a redirect that is answered by a new request only (RFC 9110 section 15.4), a body is left out.
  func request(_ trail: RedirectTrail, dropsBody: Bool, lastEventID: String)
    -> HTTPExchange.Request
  {
    var fields = HTTPHeaders()
    var given = trail.headers(headers)
    given.remove("Last-Event-ID")
    func add(_ name: String, _ value: String) {
      if given[name] == nil { fields.append(name, value) }
    }
    add("Accept", "text/event-stream")
    // As browsers do: their cache mode "no-store" sends this (Fetch section 4.5).
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

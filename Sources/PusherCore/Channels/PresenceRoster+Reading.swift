// Reads the member list of a subscription in place.
extension PresenceRoster {
  /// The members that the data of a `subscription_succeeded` lists, a string of JSON or JSON.
  ///
  /// It accepts what servers send: a hash that is a list (PHP's empty or consecutive arrays), ids that are numbers,
  /// missing information, missing ids. Members that cannot be read are left out.
  init(_ envelope: Envelope, limits: PresenceLimits) {
    self.init(limits: limits)
    guard let token = envelope.dataToken else { return }
    guard let text = envelope.dataString else {
      read(data: token)
      return
    }
    let data = ByteBuffer(capacity: text.count)
    JSONString.decode(text, into: data)
    withExtendedLifetime(data) { read(data: $0.view) }
  }

  /// Reads one JSON object with a member `presence`.
  mutating func read(data: ByteView) {
    // The last of a name counts, as in JavaScript.
    var presence: ByteView?
    guard Self.isWhole(data) else { return }
    Self.eachMember(of: data) { if $0 == "presence" { presence = $1 } }
    guard let presence else { return }
    var hash: ByteView?
    var ids: ByteView?
    Self.eachMember(of: presence) { name, value in
      if name == "hash" { hash = value }
      if name == "ids" { ids = value }
    }
    if let hash { read(hash: hash) }
    if let ids { read(ids: ids) }
  }

  private mutating func read(hash: ByteView) {
    let scratch = ByteBuffer()
    var index = 0
    Self.eachMember(of: hash) { insert($0, json: Self.compact($1, scratch)) }
    // PHP writes a list when the ids are 0, 1, 2 …
    Self.eachElement(of: hash) {
      insert(String(index), json: Self.compact($0, scratch))
      index += 1
    }
  }

  private mutating func read(ids: ByteView) {
    let add = { (roster: inout PresenceRoster, value: ByteView) in
      guard let id = Self.identifier(value), !roster.contains(id) else { return }
      roster.insert(id, json: "null")
    }
    Self.eachElement(of: ids) { add(&self, $0) }
    Self.eachMember(of: ids) { add(&self, $1) }
  }

  /// The JSON without its white space; `null` for what is nested too deep to be a value.
  private static func compact(_ value: ByteView, _ scratch: ByteBuffer) -> String {
    scratch.removeAll()
    guard (try? JSONCompactor.copy(value, into: scratch)) != nil else { return "null" }
    return scratch.view.text
  }

  private static func identifier(_ value: ByteView) -> String? {
    guard value.count > 0 else { return nil }
    switch value[0] {
    case UInt8(ascii: "\""): return JSONString.decode(value[1..<(value.count - 1)])
    case UInt8(ascii: "-"), 0x30...0x39: return value.text
    default: return nil
    }
  }

  /// Whether this is one JSON value; only then its parts are read.
  private static func isWhole(_ view: ByteView) -> Bool {
    var cursor = JSONCursor(view)
    cursor.skipWhitespace()
    return (try? JSONSkipper.skipValue(&cursor)) != nil && (try? cursor.requireEnd()) != nil
  }

  /// Calls `body` with the name and value of every member of an object.
  private static func eachMember(of view: ByteView, _ body: (String, ByteView) -> Void) {
    each(of: view, opening: UInt8(ascii: "{")) { (cursor: inout JSONCursor) throws(JSONError) in
      let name = JSONString.decode(cursor.view[try cursor.skipString()])
      cursor.skipWhitespace()
      try cursor.require(UInt8(ascii: ":"))
      cursor.skipWhitespace()
      body(name, cursor.view[try JSONSkipper.skipValue(&cursor)])
    }
  }

  /// Calls `body` with every element of an array.
  private static func eachElement(of view: ByteView, _ body: (ByteView) -> Void) {
    each(of: view, opening: UInt8(ascii: "[")) { (cursor: inout JSONCursor) throws(JSONError) in
      body(cursor.view[try JSONSkipper.skipValue(&cursor)])
    }
  }

  private static func each(
    of view: ByteView, opening: UInt8, _ body: (inout JSONCursor) throws(JSONError) -> Void
  ) {
    var cursor = JSONCursor(view)
    cursor.skipWhitespace()
    guard cursor.byte == opening else { return }
    cursor.advance()
    cursor.skipWhitespace()
    // `{` and `}`, `[` and `]` stand two apart.
    while cursor.byte != opening + 2, !cursor.atEnd {
      guard (try? body(&cursor)) != nil else { return }
      cursor.skipWhitespace()
      if cursor.byte == UInt8(ascii: ",") {
        cursor.advance()
        cursor.skipWhitespace()
      }
    }
  }
}

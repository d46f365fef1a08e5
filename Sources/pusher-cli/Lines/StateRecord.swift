internal import PusherCore

/// The content of the file of `--state-file`: an event's ID and its stream.
///
/// ```
/// pusher-cli state 1
/// url https://example.com/log
/// query 5df6e0e2761359d3
/// id 42
/// ```
///
/// The URL lacks user information and query, which may be secret. A query is kept as 8 bytes of
/// its SHA-256.
struct StateRecord: Equatable {
  /// UTF-8 without line ends; empty before the first event with an ID.
  var id: [UInt8]
  var url: String
  var query: String?

  static let fileLimit = 256 << 10
  private static let title = "pusher-cli state "
  var bytes: [UInt8] {
    var text = "\(Self.title)1\nurl \(url)\n"
    if let query { text += "query \(query)\n" }
    return Array((text + "id ").utf8) + id + [UInt8(ascii: "\n")]
  }

  /// Parses a file; `nil` if it is empty.
  ///
  /// - Throws: ``FileFault`` for anything but a state file.
  static func parse(_ bytes: [UInt8]) throws(FileFault) -> StateRecord? {
    guard !bytes.isEmpty else { return nil }
    guard !bytes.contains(0) else { throw FileFault(reason: "it has a NUL byte") }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw FileFault(reason: "it is not UTF-8 text")
    }
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
    guard lines[0].starts(with: title.utf8) else {
      throw FileFault(reason: "its first line is not '\(title)1'")
    }
    let version = lines.removeFirst().dropFirst(title.utf8.count)
    guard version.elementsEqual("1".utf8) else {
      let text = String(decoding: version, as: UTF8.self)
      throw FileFault(reason: "it has version \(text); this program reads version 1")
    }
    let record = try parse(members: lines)
    guard let objection = EventID.objection(to: record.id) else { return record }
    throw FileFault(reason: "its id is invalid: it \(objection)")
  }

  private static func parse(members lines: [ArraySlice<UInt8>]) throws(FileFault) -> StateRecord {
    var members: [String: [UInt8]] = [:]
    for line in lines {
      let name = line.prefix { $0 != UInt8(ascii: " ") }
      members[String(decoding: name, as: UTF8.self)] = Array(line.dropFirst(name.count + 1))
    }
    guard let id = members["id"], let url = members["url"] else {
      throw FileFault(reason: "its id or URL is missing")
    }
    return StateRecord(
      id: id, url: String(decoding: url, as: UTF8.self),
      query: members["query"].map { String(decoding: $0, as: UTF8.self) })
  }
}

extension StateRecord {
  init(id: [UInt8], of url: HTTPURL) {
    self.init(
      id: id, url: url.place,
      query: url.query.map { Hex.encode(Array(Digest.sha256(Array($0.utf8))[..<8])) })
  }
}

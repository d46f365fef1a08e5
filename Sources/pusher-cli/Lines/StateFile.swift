internal import PusherCore
internal import PusherPlatform

/// The file of `--state-file`: the place after the last printed event, where the next run begins.
///
/// The file is replaced atomically, and locked during the run, so that two runs cannot share it.
/// The lock is on the file itself. Each new file is locked before the rename; after locking, a
/// check shows if the path still names this file.
final class StateFile {
  typealias Voice = (String) -> Void
  private let path: String
  private let url: HTTPURL
  /// Holds the lock; -1 before that.
  private var descriptor: Int32 = -1
  /// Content of the file; `nil` if it must be written in any case.
  private var held: StateRecord?
  private(set) var place = StatePlace()
  private static let tries = 100

  /// Opens or creates, locks and reads the file of a stream.
  ///
  /// - Parameter warn: Receives warnings, which do not keep the run from beginning.
  /// - Throws: ``UsageError`` for a path that is not a regular file or a state file, for the file
  ///   of another stream, for one that another run uses, and for one that cannot be written.
  init(_ path: String, url: HTTPURL, warn: Voice) throws(UsageError) {
    self.path = path
    self.url = url
    let isNew = try openLocked(warn)
    do throws(FileFault) {
      if held == nil {
        held = try StateRecord.parse(
          try FileContent.bytes(ofDescriptor: descriptor, limit: StateRecord.fileLimit).get())
      }
    } catch {
      throw UsageError(
        "--state-file: '\(path)' is not a state file (\(error.reason)); use another, or remove it")
    }
    if held == nil, !isNew {
      warn("the state file '\(path)' is empty: starting without an id")
    }
    place = held?.place ?? StatePlace()
    try compare(warn)
    try begin(warn)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func save(_ place: StatePlace) -> String? {
    switch replace(StateRecord(place, of: url)) {
    case .success: return nil
    case .failure(let error): return "\(error)"
    }
  }

  private func replace(_ record: StateRecord) -> Result<Void, SystemError> {
    guard record != held else { return .success(()) }
    // The lock keeps other runs from using the same draft.
    let replaced = FileReplacement.replace(
      path, by: record.bytes, draft: "\(path).pusher-cli-draft", prepare: Self.prepare)
    return replaced.map { successor in
      close(descriptor)
      descriptor = successor
      held = record
      place = record.place
    }
  }

  private static func prepare(_ draft: Int32) -> Bool {
    _ = flock(draft, LOCK_EX | LOCK_NB)
    // Otherwise a power cut could leave an empty file under the final name.
    return fsync(draft) == 0
  }

  /// Creates the file, whole and locked; returns -1, with `errno`, if the name is taken.
  private func make() -> Int32 {
    let record = StateRecord(StatePlace(), of: url)
    let made = FileReplacement.establish(
      path, with: record.bytes, draft: "\(path).pusher-cli-new-\(getpid())", prepare: Self.prepare)
    switch made {
    case .success(let descriptor):
      held = record
      return descriptor
    case .failure(let error) where error.code == EEXIST:
      errno = EEXIST
      return -1
    // Without room or links the file stays empty until the first save.
    case .failure: return FileReplacement.create(path)
    }
  }

  /// Opens and locks the file; returns true if it is new.
  private func openLocked(_ warn: Voice) throws(UsageError) -> Bool {
    for _ in 0..<Self.tries {
      try refuseOthers()
      var isNew = false
      var opened = unsafe open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      if opened < 0, errno == ENOENT {
        opened = make()
        if opened < 0, errno == EEXIST { continue }
        isNew = true
      }
      guard opened >= 0 else {
        throw UsageError("--state-file: cannot write '\(path)': \(SystemError(code: errno))")
      }
      descriptor = opened
      if flock(opened, LOCK_EX | LOCK_NB) == 0 {
        if stands(opened) { return isNew }
        // Another run replaced the file between open and lock.
        close(opened)
        descriptor = -1
        held = nil
        continue
      }
      if errno == EWOULDBLOCK {
        throw UsageError("--state-file: another run uses '\(path)'; give each run its own file")
      }
      warn("cannot lock '\(path)' (\(SystemError(code: errno))): do not use it in another run")
      return isNew
    }
    throw UsageError("--state-file: another process keeps replacing '\(path)'")
  }

  /// Returns true if the path still names this file.
  private func stands(_ opened: Int32) -> Bool {
    var own = stat()
    var present = stat()
    guard unsafe fstat(opened, &own) == 0, unsafe lstat(path, &present) == 0 else { return false }
    return own.st_ino == present.st_ino && own.st_dev == present.st_dev
  }

  private func refuseOthers() throws(UsageError) {
    let what: String
    switch FileReplacement.place(path) {
    case .success(.nothing), .success(.file), .failure: return
    case .success(.link): what = "a symbolic link; give the name of the file itself"
    case .success(.channel(let kind)): what = "\(kind), not a file"
    case .success(.folder): what = "a folder, not a file"
    }
    throw UsageError("--state-file: '\(path)' is \(what)")
  }

  /// Refuses a file of another stream: its ID means something else there, or nothing.
  private func compare(_ warn: Voice) throws(UsageError) {
    guard let held else { return }
    let place = held.url
    let own = StateRecord(StatePlace(), of: url)
    guard place == own.url else {
      throw UsageError(
        "--state-file: '\(path)' belongs to \(place); use another file, or remove this one")
    }
    // A query may hold a value that changes with each run, such as a token.
    if held.query != own.query {
      warn("the state file '\(path)' belongs to another query of \(place); resuming from its id")
    }
  }

  /// Checks early that the file can be replaced; a full disk may have room later.
  private func begin(_ warn: Voice) throws(UsageError) {
    guard case .failure(let error) = replace(StateRecord(place, of: url)) else { return }
    let text = "cannot write '\(path)': \(error)"
    guard [ENOSPC, EDQUOT, EFBIG, EIO].contains(error.code) else {
      throw UsageError("--state-file: \(text)")
    }
    warn("\(text); retrying")
  }
}

/// A place in what a run receives: an event's ID for a stream, a position for each channel.
struct StatePlace: Equatable {
  /// UTF-8 without line ends; empty before the first event with an ID.
  var id: [UInt8] = []
  var positions = OrderedTable<StreamPosition>()
}

/// The content of the file of `--state-file`: a place and its stream or app.
///
/// ```
/// pusher-cli state 1
/// url https://example.com/log
/// query 5df6e0e2761359d3
/// position {"channel":"orders","stream_id":"5f1c","serial":41,"last_message_id":"a1"}
/// id 42
/// ```
///
/// `sse` has an id, and `subscribe` a position for each channel.
/// The URL lacks user information and query, which may be secret. A query is kept as 8 bytes of
/// its SHA-256.
struct StateRecord: Equatable {
  var place: StatePlace
  var url: String
  var query: String?

  static let fileLimit = 8 << 20
  private static let title = "pusher-cli state "
  var bytes: [UInt8] {
    var text = "\(Self.title)1\nurl \(url)\n"
    if let query { text += "query \(query)\n" }
    for (channel, position) in place.positions.elements {
      let members = [JSONValue.Member("channel", .string(channel))]
      text += "position \(JSONWriter.text(.object(members + (position.json.members ?? []))))\n"
    }
    return Array((text + "id ").utf8) + place.id + [UInt8(ascii: "\n")]
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
    guard let objection = EventID.objection(to: record.place.id) else { return record }
    throw FileFault(reason: "its id is invalid: it \(objection)")
  }

  private static func parse(members lines: [ArraySlice<UInt8>]) throws(FileFault) -> StateRecord {
    var members: [String: [UInt8]] = [:]
    var place = StatePlace()
    for line in lines {
      let name = line.prefix { $0 != UInt8(ascii: " ") }
      let value = Array(line.dropFirst(name.count + 1))
      guard name.elementsEqual("position".utf8) else {
        members[String(decoding: name, as: UTF8.self)] = value
        continue
      }
      guard let json = try? JSONParser.parse(String(decoding: value, as: UTF8.self)),
        let channel = json["channel"]?.text, let position = StreamPosition(json)
      else { throw FileFault(reason: "a position in it is invalid") }
      place.positions[channel] = position
    }
    guard let id = members["id"], let url = members["url"] else {
      throw FileFault(reason: "its id or URL is missing")
    }
    place.id = id
    return StateRecord(
      place: place, url: String(decoding: url, as: UTF8.self),
      query: members["query"].map { String(decoding: $0, as: UTF8.self) })
  }
}

extension StateRecord {
  fileprivate init(_ place: StatePlace, of url: HTTPURL) {
    self.init(
      place: place, url: url.place,
      query: url.query.map { Hex.encode(Array(Digest.sha256(Array($0.utf8))[..<8])) })
  }
}

import Foundation
import PusherCore
import TestSupport

/// A headless Chromium that a test drives through the DevTools protocol; it ends with the last
/// page.
///
/// It belongs to the test's thread, and processes its pages' reports while it waits for an answer.
final class DevToolsBrowser {
  private let connection: DevToolsConnection
  private var lastCall = 0
  private(set) var logs: [String: PageLog] = [:]
  /// Pages in the order of their creation, with their contexts.
  private var pages: [(id: String, context: String)] = []
  private var owners: [String: String] = [:]
  private var sessions: [String: String] = [:]
  /// Context of the page that is being created.
  private var expecting: String?
  /// Pending calls that enable all reports of that page.
  private var preparing: Set<Int> = []

  init() throws {
    connection = try DevToolsConnection()
    // New targets of a page wait until the tests receive their reports.
    try call("Target.setAutoAttach", Self.attaching)
  }

  private static let attaching: JSONValue = [
    "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true,
  ]

  /// Creates an empty page with storage and cookies of its own.
  func page() throws -> BrowserPage {
    let context = try newContext()
    expecting = context
    defer { expecting = nil }
    let answer = try call(
      "Target.createTarget", ["url": "about:blank", "browserContextId": .init(context)])
    guard let id = answer["targetId"]?.text else { throw Unexpected(answer.jsonText) }
    try listen(until: sessions[id] != nil, "the browser attached us to a new page")
    guard let session = sessions[id] else { throw Unexpected("a page without a session") }
    let page = BrowserPage(self, id: id, session: session, context: context)
    // A page that is opened earlier would send requests before its reports start.
    try listen(until: preparing.isEmpty, "a new page was prepared")
    return page
  }

  private func newContext() throws -> String {
    let answer = try call("Target.createBrowserContext")
    guard let context = answer["browserContextId"]?.text else { throw Unexpected(answer.jsonText) }
    let permissions: JSONValue = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    try call(
      "Browser.grantPermissions",
      ["permissions": permissions, "browserContextId": .init(context)])
    return context
  }

  // MARK: Messages

  /// Calls a method and waits for its answer; of the browser unless a session is given.
  ///
  /// - Throws: ``DevToolsError`` with the browser's message.
  @discardableResult
  func call(
    _ method: String, _ parameters: JSONValue = [:], session: String? = nil,
    within limit: Duration = patience
  ) throws -> JSONValue {
    let id = try post(method, parameters, session: session)
    var answer: JSONValue?
    try listen(until: answer != nil, "\(method) was answered", within: limit) { message in
      if message["id"]?.integer == id { answer = message }
    }
    if let error = answer?["error"] {
      throw DevToolsError(method: method, reason: error["message"]?.text ?? error.jsonText)
    }
    return answer?["result"] ?? [:]
  }

  @discardableResult
  private func post(
    _ method: String, _ parameters: JSONValue = [:], session: String?
  ) throws -> Int {
    lastCall += 1
    try connection.send(
      .object(present: [
        "id": .init(lastCall), "method": .init(method), "params": parameters,
        "sessionId": session.map { .init($0) },
      ]))
    return lastCall
  }

  /// Processes reports until the condition holds.
  ///
  /// - Parameters:
  ///   - what: The condition, as a sentence.
  ///   - other: Takes messages that are not reports.
  func listen(
    until isSo: @autoclosure () -> Bool, _ what: @autoclosure () -> String,
    within limit: Duration = patience, other: (JSONValue) -> Void = { _ in }
  ) throws {
    let deadline = SystemClock.now().advanced(by: limit)
    while !isSo() {
      let left = SystemClock.now().duration(to: deadline)
      guard let message = try connection.message(within: max(.zero, left)) else {
        throw Late("in \(limit) it never was so: \(what())")
      }
      if let id = message["id"]?.integer { preparing.remove(id) }
      if let method = message["method"]?.text {
        try take(method, message["params"] ?? [:], session: message["sessionId"]?.text)
      } else {
        other(message)
      }
    }
  }

  private func take(_ method: String, _ parameters: JSONValue, session: String?) throws {
    if method == "Target.attachedToTarget" { return try attach(parameters, parent: session) }
    guard let session, let owner = owners[session] else { return }
    logs[owner]?.take(method, parameters)
    switch method {
    case "Page.javascriptDialogOpening":
      // A page's question does not prevent leaving.
      let leaves = parameters["type"] == "beforeunload"
      try post("Page.handleJavaScriptDialog", ["accept": .init(leaves)], session: session)
    case "Inspector.targetCrashed": throw Unexpected("the page crashed")
    default: break
    }
  }

  // MARK: Sessions

  private func attach(_ parameters: JSONValue, parent: String?) throws {
    guard let session = parameters["sessionId"]?.text, let target = parameters["targetInfo"],
      let id = target["targetId"]?.text
    else { throw Unexpected(parameters.jsonText) }
    let context = target["browserContextId"]?.text ?? ""
    let isPage = target["type"] == "page"
    let calls = try prepare(session, isDocument: isPage || target["type"] == "iframe")
    if isPage, target["openerId"] == nil, expecting == context {
      expecting = nil
      preparing = calls
      pages.append((id, context))
      sessions[id] = session
      logs[id] = PageLog(frame: id)
      owners[session] = id
    } else {
      // A shared worker has no parent; its context names the owner.
      let opener = target["openerId"]?.text.flatMap { logs[$0] == nil ? nil : $0 }
      let owner = parent.flatMap { owners[$0] } ?? opener
      owners[session] = owner ?? pages.first { $0.context == context }?.id
      if isPage, let owner = owners[session] { logs[owner]?.countWindow() }
    }
  }

  /// Enables all reports of a session and resumes its target; returns the numbers of the calls.
  private func prepare(_ session: String, isDocument: Bool) throws -> Set<Int> {
    var calls: Set<Int> = []
    if isDocument {
      calls.insert(try post("Page.enable", session: session))
      calls.insert(try post("Page.setLifecycleEventsEnabled", ["enabled": true], session: session))
      calls.insert(try post("Audits.enable", session: session))
    }
    for domain in ["Runtime", "Log", "Network", "Inspector"] {
      calls.insert(try post("\(domain).enable", session: session))
    }
    calls.insert(try post("Target.setAutoAttach", Self.attaching, session: session))
    calls.insert(try post("Runtime.runIfWaitingForDebugger", session: session))
    return calls
  }
}

/// A call that the browser rejected.
struct DevToolsError: Error, CustomStringConvertible {
  var method: String
  var reason: String

  var description: String { "\(method): \(reason)" }
}

/// A running Chromium and its DevTools protocol: JSON messages, each ended by a NUL byte.
///
/// It belongs to the test's thread. The browser and its children end with the object.
final class DevToolsConnection {
  private let program: ChildProgram
  private let folder: String
  /// Our end of the browser's descriptors 3 and 4.
  private let reader: PipeReader

  init() throws {
    guard let path = Browser.path else { throw Unexpected(Browser.reason) }
    folder = TemporaryFolder.shared.file("driven-browser")
    // A socket pair instead of pipes: writing to an ended browser then fails without a signal.
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemFailure("socketpair", errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[1]) }
    reader = PipeReader(ends[0])
    program = try ChildProgram(
      path, Browser.options(folder: folder) + ["--remote-debugging-pipe"],
      environment: PusherCLI.environment, handed: [ends[1], ends[1]])
  }

  deinit {
    // The installed program may be a script that starts the browser.
    program.endWithChildren()
    try? FileManager.default.removeItem(atPath: folder)
  }

  func send(_ message: JSONValue) throws {
    let buffer = ByteBuffer()
    JSONWriter.write(message, into: buffer)
    buffer.append(0)
    let deadline = SystemClock.now().advanced(by: patience)
    while !buffer.isEmpty {
      let count = Foundation.send(
        reader.descriptor, buffer.view.base, buffer.count, Int32(MSG_NOSIGNAL))
      if count > 0 {
        buffer.consume(count)
      } else if errno == EAGAIN {
        guard SystemClock.now() < deadline else { throw Late("the browser reads nothing") }
        wait(for: POLLIN | POLLOUT, milliseconds: 1000)
      } else if errno != EINTR {
        throw hasEnded
      }
    }
  }

  /// Returns the next message, or `nil` after the limit.
  func message(within limit: Duration) throws -> JSONValue? {
    let deadline = SystemClock.now().advanced(by: limit)
    while true {
      if let bytes = reader.takeLine(endedBy: 0) {
        let buffer = ByteBuffer()
        buffer.append(bytes)
        return try JSONParser.parse(buffer.view)
      }
      if reader.hasEnded { throw hasEnded }
      let left = SystemClock.now().duration(to: deadline).inSeconds
      // Received bytes count even if no time is left.
      let hasCome = wait(for: POLLIN, milliseconds: Int32(max(0, min(left * 1000, 1000))))
      if !hasCome, left <= 0 { return nil }
    }
  }

  /// Waits until the browser has written or accepts more; returns true if bytes arrived.
  @discardableResult private func wait(for events: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: reader.descriptor, events: Int16(events), revents: 0)
    poll(&waiting, 1, milliseconds)
    // A browser with a full standard error would block.
    _ = program.peekAtErrors()
    guard Int32(waiting.revents) & ~POLLOUT != 0 else { return false }
    reader.fill()
    return true
  }

  private var hasEnded: Unexpected {
    Unexpected("the browser has ended; standard error: \(program.peekAtErrors())")
  }
}

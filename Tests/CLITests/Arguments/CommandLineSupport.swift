import PusherCore
import Testing

@testable import pusher_cli

func arguments(_ line: String) throws -> TypedArguments {
  try arguments(line.split(separator: " ").map(String.init))
}

func arguments(_ words: [String]) throws -> TypedArguments {
  switch try Invocation(words) {
  case .command(let typed), .config(let typed, _), .configProfiles(let typed): return typed
  case .page, .version, .completion, .configPath: throw NoCommand()
  }
}

struct NoCommand: Error {}

extension CommandSettings {
  init(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) {
    var resolved = try Resolved(typed, environment: environment, files: files)
    try self.init(&resolved)
  }

  var verbosity: Verbosity { common.verbosity }
  var warnings: [UsageWarning] { common.warnings }
}

extension ConnectionSettings {
  /// App and server: `KEY https://HOST:PORT/PATH`.
  var summary: String { "\(key) \(isSecure ? "https" : "http")://\(host):\(port)\(path)" }
}

extension SubscribeSettings {
  /// App and server, with the secret if a channel needs it: `SECRET@KEY https://HOST:PORT/PATH`.
  var summary: String {
    guard case .secret(let secret, nil, nil) = authorization else { return connection.summary }
    return "\(secret.revealed)@\(connection.summary)"
  }
}

extension TriggerSettings {
  /// App and server, with all that a call needs: `ID:SECRET@KEY https://HOST:PORT/PATH`.
  var summary: String { "\(appID):\(secret.revealed)@\(connection.summary)" }
  var connection: ConnectionSettings { access.connection }
  var appID: String { access.appID }
  var secret: Secret { access.secret }
}

/// Returns the error message of a bad command line or bad settings, or nil.
func refusal(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch let error as UsageError {
    return error.message
  } catch {
    return "unexpected: \(error)"
  }
}

func refusal(of line: String) -> String? {
  refusal { _ = try arguments(line) }
}

extension Table.Row {
  /// The settings of the command line in the row.
  ///
  /// Words `NAME=VALUE` before the command are variables; a word of `families` stands for several.
  ///
  /// - Parameter start: The words that all command lines of a table begin with.
  func settings(
    after start: String = "", _ environment: [String: String] = [:],
    families: [String: [String: String]] = [:], files: PretendFiles = PretendFiles()
  ) throws -> any CommandSettings {
    let words = (start + input).split(separator: " ").map(String.init)
    let given = words.prefix { families[$0] != nil || $0.contains(#/^[A-Za-z_]+=/#) }
    var variables = environment
    for word in given { variables.merge(families[word] ?? [:]) { $1 } }
    for word in given {
      guard let end = word.firstIndex(of: "=") else { continue }
      variables[String(word[..<end])] = String(word[end...].dropFirst())
    }
    let typed = try arguments(Array(words.dropFirst(given.count)))
    var resolved = try Resolved(typed, environment: variables, files: files.access)
    guard let use = CommandUse.of(typed) else { throw NoCommand() }
    return try use.settings(&resolved)
  }

  /// Expects that the command line in the row is refused with the row's result.
  func expectRefusal(
    after start: String = "", _ environment: [String: String] = [:],
    families: [String: [String: String]] = [:], files: PretendFiles = PretendFiles(),
    place: SourceLocation = #_sourceLocation
  ) {
    expectRefusal(place: place) {
      _ = try settings(after: start, environment, families: families, files: files)
    }
  }

  func expectRefusal(place: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
    expect(refusal(body) ?? "accepted", place: place)
  }
}

extension CommandSettings {
  var warningText: String { warnings.map(\.text).joined(separator: "\n") }

  /// App and server of `subscribe` and `trigger`.
  var serverText: String {
    (self as? SubscribeSettings)?.summary ?? (self as? TriggerSettings)?.summary ?? ""
  }
}

extension Diagnostics {
  /// Messages to people, and their lines so far.
  static func recorded(
    _ threshold: Level = .debug, isJournal: Bool = false
  ) -> (Diagnostics, Record<String>) {
    let lines = Record<String>()
    let diagnostics = Diagnostics(threshold: threshold, isJournal: isJournal) {
      lines.add(String(decoding: $0, as: UTF8.self))
    }
    return (diagnostics, lines)
  }
}

/// What the program says about a command line before the command runs.
struct Preview {
  /// The mistake that would end the program with status 2, or `nil`.
  private(set) var mistake: UsageError?
  /// Message of the mistake, empty without one.
  var message: String { mistake?.message ?? "" }
  /// The warnings and the mistake, a line each.
  private(set) var messages = ""
  /// The settings that `config` shows, then the messages.
  private(set) var text = ""

  init(
    _ words: [String], _ environment: [String: String] = [:],
    files: FileAccess = PretendFiles().access
  ) {
    let (diagnostics, lines) = Diagnostics.recorded()
    var shownCount = 0
    do {
      let typed = try arguments(words)
      var resolved = try Resolved(typed, environment: environment, files: files)
      var shown = resolved
      let config = try ConfigSettings(&shown)
      for row in config.rows { diagnostics.detail("\(row.name): \(row.value), from \(row.origin)") }
      shownCount = lines.values.count
      if let problem = config.problem { diagnostics.usage(problem) }
      guard let use = CommandUse.of(typed) else { throw NoCommand() }
      for warning in try use.settings(&resolved).common.warnings {
        diagnostics.loudWarning(warning.text)
      }
    } catch let error as UsageError {
      mistake = error
      diagnostics.usage(error)
    } catch {
      lines.add("unexpected: \(error)")
    }
    messages = lines.values[shownCount...].joined()
    text = lines.values.joined()
  }
}

/// Files that exist only in a test.
struct PretendFiles {
  var contents: [String: String] = [:]
  var permissions: UInt32 = 0o600
  /// The files of a container's platform, or of systemd.
  var isSettled = false
  var isForeign = false
  var isReadByRoot = false
  var sockets: [Int32: Result<HandedSocket, HandedSocket.Fault>] = [:]

  var access: FileAccess {
    let contents = contents
    let permissions = permissions
    let holders = FileHolders(
      mode: permissions, isForeign: isForeign, isReadByRoot: isReadByRoot, isSettled: isSettled)
    let sockets = sockets
    return FileAccess(
      read: { path, limit in
        guard let text = contents[path] else {
          return .failure(FileFault(reason: "no such file or directory"))
        }
        guard text.utf8.count <= limit else { return .failure(FileFault(reason: "too large")) }
        return .success(
          FileContent(bytes: Array(text.utf8), holders: path == "-" ? nil : holders))
      },
      permissions: { contents[$0] == nil || $0 == "-" ? nil : permissions },
      listeningSocket: { sockets[$0] ?? .failure(.notOpen) }, processID: { 77 })
  }
}

private func settings<Settings: CommandSettings>(
  _ line: String, _ environment: [String: String], _ files: PretendFiles
) throws -> Settings {
  try Settings(arguments(line), environment: environment, files: files.access)
}

func subscribe(
  _ line: String, _ environment: [String: String] = [:], files: PretendFiles = PretendFiles()
) throws -> SubscribeSettings { try settings("subscribe " + line, environment, files) }

func sse(
  _ line: String, _ environment: [String: String] = [:], files: PretendFiles = PretendFiles()
) throws -> StreamSettings { try settings("sse " + line, environment, files) }

func trigger(
  _ line: String, _ environment: [String: String] = [:], files: PretendFiles = PretendFiles()
) throws -> TriggerSettings { try settings("trigger " + line, environment, files) }

func serve(
  _ line: String = "", _ environment: [String: String] = [:], files: PretendFiles = PretendFiles()
) throws -> ServeSettings { try settings("serve " + line, environment, files) }

/// `line` starts with the command: `channels`, `users` or `terminate`.
func inspect(_ line: String) throws -> InspectSettings { try settings(line, [:], PretendFiles()) }

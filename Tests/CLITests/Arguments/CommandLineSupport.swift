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

extension TriggerSettings {
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
    let lines = Record<String>()
    let diagnostics = Diagnostics(threshold: .debug, isJournal: false) {
      lines.add(String(decoding: $0, as: UTF8.self))
    }
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

func subscribe(
  _ line: String, _ environment: [String: String] = [:], files: PretendFiles = PretendFiles()
) throws -> SubscribeSettings {
  try SubscribeSettings(
    arguments("subscribe " + line), environment: environment, files: files.access)
}

func sse(
  _ line: String, _ environment: [String: String] = [:], files: PretendFiles = PretendFiles()
) throws -> StreamSettings {
  try StreamSettings(arguments("sse " + line), environment: environment, files: files.access)
}

func trigger(
  _ line: String, _ environment: [String: String] = [:], files: PretendFiles = PretendFiles()
) throws -> TriggerSettings {
  try TriggerSettings(arguments("trigger " + line), environment: environment, files: files.access)
}

func serve(
  _ line: String = "", _ environment: [String: String] = [:], files: PretendFiles = PretendFiles()
) throws -> ServeSettings {
  try ServeSettings(arguments("serve " + line), environment: environment, files: files.access)
}

/// `line` starts with the command: `channels`, `users` or `terminate`.
func inspect(_ line: String, _ environment: [String: String] = [:]) throws -> InspectSettings {
  try InspectSettings(
    arguments(line), environment: environment, files: PretendFiles().access)
}

/// `line` starts with the command: `auth`, `sign` or `verify`.
func sign(_ line: String, files: PretendFiles = PretendFiles()) throws -> SignSettings {
  try SignSettings(arguments(line), environment: [:], files: files.access)
}

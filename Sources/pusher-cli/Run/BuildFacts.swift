internal import CProgram
internal import PusherCore

/// The answer of `version --verbose`: what a bug report must name.
enum BuildFacts {
  static var text: String {
    """
    \(Version.line)\
    commit: \(commit)
    swift: \(compiler)
    openssl: \(TLSContext.libraryVersion)
    encrypted channels: \(SecretBox.isBuilt ? "yes" : "no")
    redis: \(hasRedis ? "yes" : "no")
    system: \(system)

    """
  }

  #if Redis
    private static let hasRedis = true
  #else
    private static let hasRedis = false
  #endif

  private static var commit: String {
    guard let text = unsafe pusher_commit() else { return "unknown" }
    return unsafe String(cString: text)
  }

  private static var compiler: String {
    guard let text = unsafe pusher_swift_version() else { return "unknown" }
    return unsafe String(cString: text)
  }

  private static var system: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
      guard let start = room.baseAddress else { return "unknown" }
      unsafe pusher_system(start, room.count)
      return unsafe String(cString: start)
    }
  }
}

enum ProgramArguments {
  /// Returns the words after the program's name; invalid UTF-8 becomes replacement characters.
  ///
  /// They are the arguments that the C library passes to constructors, so `/proc` is not needed.
  static func words() -> [String] {
    let count = pusher_argument_count()
    guard count > 0 else { return Array(CommandLine.arguments.dropFirst()) }
    return (1..<max(count, 1)).compactMap { index in
      guard let word = unsafe pusher_argument(index) else { return nil }
      return unsafe String(cString: word)
    }
  }
}

internal import CProgram
internal import PusherCore

/// The answer of `version --verbose`: what a bug report must name.
enum BuildFacts {
  static var text: String {
    """
    \(Version.line)\
    commit: \(text(unsafe pusher_commit()))
    swift: \(text(unsafe pusher_swift_version()))
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

  private static func text(_ given: UnsafePointer<CChar>?) -> String {
    unsafe given.map { unsafe String(cString: $0) } ?? "unknown"
  }

  private static var system: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
      guard let start = room.baseAddress else { return "unknown" }
      unsafe pusher_system(start, room.count)
      return unsafe String(cString: start)
    }
  }
}

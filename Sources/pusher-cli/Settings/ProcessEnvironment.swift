#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

extension Environment {
  /// Every variable the program heeds; the help and the manual name the same.
  static let names = [
    "PUSHER_APP_KEY", "PUSHER_KEY", "PUSHER_APP_SECRET", "PUSHER_SECRET",
    "PUSHER_APP_SECRET_FILE", "CREDENTIALS_DIRECTORY", "PUSHER_APP_ID", "PUSHER_APP_CLUSTER",
    "PUSHER_CLUSTER", "PUSHER_HOST", "PUSHER_PORT", "PUSHER_SCHEME", "PUSHER_URL",
    "PUSHER_ENCRYPTION_MASTER_KEY",
    "REVERB_APP_KEY", "REVERB_APP_SECRET", "REVERB_APP_ID", "REVERB_HOST", "REVERB_PORT",
    "REVERB_SCHEME", "REVERB_INTERNAL_HOST", "REVERB_INTERNAL_PORT", "REVERB_INTERNAL_SCHEME",
    "SOKETI_DEFAULT_APP_KEY", "SOKETI_DEFAULT_APP_SECRET", "SOKETI_DEFAULT_APP_ID", "SOKETI_PORT",
    "BROADCAST_CONNECTION", "BROADCAST_DRIVER", "PUSHER_CLI_OUTPUT", "PUSHER_CLI_COLOR",
    "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD", "JOURNAL_STREAM",
    "NOTIFY_SOCKET", "WATCHDOG_USEC",
  ]

  /// The same in lower case, where that is customary.
  static let lowerCaseNames = names.filter { $0.hasSuffix("_PROXY") }.map { $0.lowercased() }

  /// Those of them that this process was started with.
  static func ofProcess() -> [String: String] {
    var variables: [String: String] = [:]
    for name in names + lowerCaseNames {
      guard let value = unsafe getenv(name) else { continue }
      unsafe variables[name] = String(cString: value)
    }
    return variables
  }
}

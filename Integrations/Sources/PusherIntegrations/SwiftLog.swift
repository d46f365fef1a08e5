public import Logging
public import PusherCore

/// Writes a client's log messages to swift-log.
public struct SwiftLog: PusherLogger {
  let logger: Logger

  /// Creates an adapter; `logger` decides which levels are written.
  public init(logger: Logger) { self.logger = logger }

  /// Writes the message at the level of the same name, without making the text of a disabled level.
  public func log(_ level: PusherLogLevel, _ message: () -> String) {
    logger.log(
      level: Logger.Level(rawValue: level.rawValue) ?? .debug, "\(message())",
      source: "PusherCore")
  }
}

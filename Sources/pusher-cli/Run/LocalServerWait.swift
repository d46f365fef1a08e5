internal import PusherCore

/// Waits for the server of `--local`, which a script has often started a line above.
///
/// Only a refused connection to an address of this machine is waited out, and no longer than one attempt to connect may
/// take; whatever stands then is told by the attempt that follows.
enum LocalServerWait {
  /// Waits until somebody listens at the place of `connection`, `limit` at most.
  static func run(
    _ connection: ConnectionSettings, atMost limit: Duration?, _ diagnostics: Diagnostics
  ) {
    let port = UInt16(clamping: connection.port)
    guard connection.isLocal, LocalPort.isRefused(host: connection.host, port: port) else { return }
    let patience = min(connection.connectTimeout, limit ?? connection.connectTimeout)
    diagnostics.info(
      "nothing listens on \(connection.host) port \(port) yet; "
        + "waiting \(patience.inWords) at most for 'pusher-cli serve'")
    LocalPort.wait(host: connection.host, port: port, atMost: patience)
  }
}

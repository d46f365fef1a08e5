import PusherCore
import PusherTesting

/// Runs every sample of the articles, and the features without a sample, against servers in this
/// process.
///
///     tour CERTIFICATES
///
/// CERTIFICATES is a folder with `root.pem`, `valid.pem` and `valid.key`.
@main struct Tour {
  static func main() async throws {
    guard CommandLine.arguments.count == 2 else {
      print("usage: tour CERTIFICATES")
      return
    }
    let certificates = CommandLine.arguments[1]
    await Samples.run("overview", try await PusherTestServer()) { try await Samples.overview($0) }
    await Samples.run("five minutes", try await PusherTestServer()) {
      try await Samples.fiveMinutes($0)
    }
    await Samples.run("channel endpoint", try await PusherTestServer()) {
      try await Samples.channelEndpoint($0)
    }
    await Samples.run("user endpoint", try await PusherTestServer()) {
      try await Samples.userEndpoint($0)
    }
    await Samples.run("publishing", try await PusherTestServer()) {
      try await Samples.publishing($0)
    }
    try await Samples.webhooks()
    await Samples.run("missing events", try await PusherTestServer()) {
      try await Samples.missingEvents($0)
    }
    await Samples.run("slow readers", try await PusherTestServer()) {
      try await Samples.slowReaders($0)
    }
    await Samples.run("owners", try await PusherTestServer()) { try await Samples.owners($0) }
    await Samples.run("loops", try await PusherTestServer()) { try await Samples.loops($0) }
    await Samples.run("actors", try await PusherTestServer()) { try await Samples.actors($0) }
    await Samples.run("runtime", try await PusherTestServer()) { try await Samples.runtime($0) }
    await Samples.run("libPusher", try await PusherTestServer()) { try await Samples.libPusher($0) }
    await Samples.run("Eventflit", try await PusherTestServer(service: .eventflit)) {
      try await Samples.eventflit($0)
    }
    try await Samples.eventSource()
    await Samples.run("retries", try await PusherTestServer()) { try await Samples.retries($0) }
    try await Samples.testing()
    let secure = try await PusherTestServer(
      certificateFile: certificates + "/valid.pem", keyFile: certificates + "/valid.key",
      caFile: certificates + "/root.pem")
    await Samples.run("TLS", secure) {
      try await Samples.tls($0, root: certificates + "/root.pem")
    }
    try await Samples.features()
  }
}

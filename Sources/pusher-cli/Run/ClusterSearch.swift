internal import PusherCore

/// Looks for the cluster of pusher.com that knows an app key, when the one that was asked does not.
enum ClusterSearch {
  /// How long one cluster may take.
  private static let patience = Duration.seconds(2)

  /// What the search has found, as advice; empty when the server is none of a cluster.
  static func advice(
    _ settings: SubscribeSettings, loop: EventLoop, diagnostics: Diagnostics
  ) -> [String] {
    guard let asked = settings.connection.cluster, PusherService.clusters.contains(asked) else {
      return []
    }
    for cluster in PusherService.clusters where cluster != asked {
      var neighbour = settings
      neighbour.connection.host = settings.connection.service.host(cluster: cluster)
      neighbour.connection.network.connectTimeout = min(
        settings.connection.connectTimeout, patience)
      let conversation = CheckConversation(neighbour, loop: loop, diagnostics: diagnostics)
      defer { conversation.close() }
      do throws(CheckFailure) {
        _ = try conversation.upgrade()
        _ = try conversation.waitForGreeting()
        return ["cluster \(cluster) knows this key: add --cluster \(cluster)"]
      } catch {
        continue
      }
    }
    return ["no other public cluster knows this key: is it the app key, and not the app id?"]
  }
}

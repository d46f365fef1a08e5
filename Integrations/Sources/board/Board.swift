import PusherCore
import Synchronization

/// An order, as in the events and as the program shows it.
struct Order: Codable, Equatable, Sendable {
  var id: Int
  var total: String
}

/// The latest orders and the occupied channels, for any thread.
final class Board: Sendable {
  private static let limit = 100
  private let orders = Mutex<[Order]>([])
  private let channels = Mutex<Set<String>>([])

  /// The latest orders, at most 100, the newest last.
  var latestOrders: [Order] { orders.withLock { $0 } }

  /// Occupied channels according to the webhooks, sorted.
  var occupiedChannels: [String] { channels.withLock { $0.sorted() } }

  /// Adds an order and drops the oldest above the limit.
  func add(_ order: Order) {
    orders.withLock { orders in
      orders.append(order)
      orders.removeFirst(max(orders.count - Self.limit, 0))
    }
  }

  /// Checks a webhook and notes its channels.
  func take(_ body: [UInt8], key: String?, signature: String?, by api: PusherAPI) throws {
    let webhook = try api.webhook(body: body, key: key, signature: signature)
    for event in webhook.events {
      guard let channel = event.channel else { continue }
      switch event.name {
      case "channel_occupied": channels.withLock { _ = $0.insert(channel) }
      case "channel_vacated": channels.withLock { _ = $0.remove(channel) }
      default: break
      }
    }
  }
}

import Foundation
import PusherCore

/// Compares the cost of decoding an event's data with Foundation's JSONDecoder.
enum DecodeCost {
  /// A typical event of a shop: the 200 bytes of the other tables.
  private struct Order: Decodable {
    struct Item: Decodable {
      var name: String
      var count: Int
      var price: Double
    }

    var id: Int
    var customer: String
    var paid: Bool
    var note: String?
    var items: [Item]
  }

  private static let data =
    #"{"id":1000217,"customer":"Ada Lovelace","paid":true,"note":null,"items":[{"name":"kettle","count":1,"price":34.5},{"name":"cups, six","count":2,"price":12.25},{"name":"tea","count":10,"price":3.75}]}"#

  /// Prints the nanoseconds of one decoding: by `PusherEvent.decode`, and by a JSONDecoder with the
  /// data as UTF-8.
  static func measure(_ count: Int) throws {
    let event = PusherEvent(eventName: "order", channelName: "orders", data: data)
    let decoder = JSONDecoder()
    var checked = 0
    let ours = try time(count) { checked += try event.decode(Order.self).items.count }
    let foundations = try time(count) {
      checked += try decoder.decode(Order.self, from: Data((event.data ?? "").utf8)).items.count
    }
    precondition(checked > count, "nothing was decoded")
    print("decode", ours, foundations)
  }

  private static func time(_ count: Int, _ body: () throws -> Void) throws -> Double {
    // Fills caches and tables first.
    for _ in 0..<min(count, 1_000) { try body() }
    let start = ContinuousClock().now
    for _ in 0..<count { try body() }
    return (ContinuousClock().now - start).inSeconds * 1e9 / Double(count)
  }
}

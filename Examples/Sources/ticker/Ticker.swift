import PusherCore

/// Prints COUNT prices from a public channel, one a line.
///
///     ticker HOST PORT KEY COUNT
@main struct Ticker {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let port = Int(arguments[2]), let count = Int(arguments[4]) else {
      print("usage: ticker HOST PORT KEY COUNT")
      return
    }
    let pusher = Pusher(
      key: arguments[3],
      options: PusherClientOptions(host: .host(arguments[1]), port: port, useTLS: false))
    let channel = pusher.subscribe("stocks")
    let prices = channel.feed(buffering: .oldest(1000))
    pusher.connect()
    var left = count
    for await element in prices {
      if case .lost(let count) = element { print("\(count) events were too fast") }
      guard case .event(let event) = element else { continue }
      if event.eventName == "pusher:subscription_succeeded" { print("watching") }
      guard event.eventName == "new-price", let data = event.jsonObject else { continue }
      print(data["company"]?.text ?? "somebody", "is now priced at", data["price"]?.text ?? "?")
      left -= 1
      if left == 0 { break }
    }
  }
}

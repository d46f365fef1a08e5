// The program of the README. With `pusher-cli serve` running:
//
//     pusher-cli trigger --local -c orders -e order.created '{"id":1}'

import PusherCore

let options = PusherClientOptions(host: .host("127.0.0.1"), port: 6001, useTLS: false)
let pusher = Pusher(key: "local", options: options)
pusher.subscribe("orders").bind(eventName: "order.created") { event in
  print(event.data ?? "no data")
}
try await pusher.run()

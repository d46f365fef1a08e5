import Dispatch
import Foundation
import PusherCore

/// Reads jobs until SIGTERM, finishes the started jobs, and closes the connection properly.
///
///     worker HOST PORT KEY
@main struct Worker {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let port = Int(arguments[2]) else {
      print("usage: worker HOST PORT KEY")
      return
    }
    let pusher = Pusher(
      key: arguments[3],
      options: PusherClientOptions(host: .host(arguments[1]), port: port, useTLS: false))

    let jobs = pusher.subscribe("jobs").events(named: "job", buffering: .suspending(100))
    let worker = Task {
      for await event in jobs { work(on: event) }
    }
    let running = Task { try await pusher.run() }

    // The source is told instead of the system, which would end the process.
    signal(SIGTERM, SIG_IGN)
    let stop = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
    stop.setEventHandler { running.cancel() }
    stop.resume()

    try await running.value
    await worker.value
    print("all jobs are done")
  }

  static func work(on event: PusherEvent) {
    print("job \(event.data ?? "")")
  }
}

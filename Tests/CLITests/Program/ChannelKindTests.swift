import Foundation
import PusherCore
import Testing

@Suite("Cache channels, counts, services and many channels", .runsPrograms)
struct ChannelKindTests {
  @Test func `a cache channel begins with a miss, then with its last event`() throws {
    let server = try LocalServer()
    let first = try server.subscribe(["cache-price"], "-L", "-n", "2")
    try server.trigger("cache-price", "price", #"{"eur":1.10}"#).expect()
    #expect(
      try first.lines(2) == [
        #"{"event":"pusher:cache_miss","channel":"cache-price","data":null}"#,
        #"{"event":"price","channel":"cache-price","data":{"eur":1.10}}"#,
      ])
    let second = try server.subscribe(["cache-price"], "-n", "1", joins: false)
    #expect(
      try second.result().outputText
        == #"{"event":"price","channel":"cache-price","data":{"eur":1.10}}"# + "\n")
  }

  @Test func `a server that is asked to tells how many are subscribed`() throws {
    let server = try LocalServer(options: ["--subscription-counts"])
    let program = try server.subscribe(["news"], "-n", "1", joins: false)
    #expect(
      try program.result().outputText
        == #"{"event":"pusher:subscription_count","channel":"news","data":{"subscription_count":1}}"#
        + "\n")
  }

  @Test func `Eventflit's names are spoken by subscribe, trigger and serve`() throws {
    let server = try LocalServer(options: ["--service", "eventflit"])
    let program = try server.subscribe(
      ["private-orders", "presence-lobby"], "-L", "-n", "2", "--service", "eventflit")
    try server.trigger("private-orders", "order", #"{"n":1}"#, "--service", "eventflit").expect()
    let other = try server.subscribe(
      ["presence-lobby"], "--user-id", "7", "--service", "eventflit", joins: false)
    #expect(
      try program.lines(2) == [
        #"{"event":"order","channel":"private-orders","data":{"n":1}}"#,
        #"{"event":"eventflit:member_added","channel":"presence-lobby","data":{"user_id":"7"}}"#,
      ])
    other.send(SIGTERM)
    _ = try other.wait()
    // The program does not know the names of another service.
    let stranger = try server.subscribe(
      ["a"], "--timeout", "1", "--connect-timeout", "500ms", joins: false)
    try stranger.result().expect(4)
  }
}

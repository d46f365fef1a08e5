import Testing

@testable import pusher_cli

@Suite("The shares of the processes of bench")
struct BenchShareTests {
  private func workers(_ count: Int) -> [BenchShare] {
    (0..<count).map { .worker($0, of: count) }
  }

  @Test(arguments: [1, 2, 3, 5, 63, 64])
  func `the subscribers of all shares are the subscribers of the run`(processes: Int) {
    for total in [64, 65, 99, 101, 1000] {
      let shares = workers(processes).map { $0.subscribers(of: total) }
      #expect(shares.joined().sorted() == Array(0..<total), "\(total)")
      let sizes = shares.map(\.count)
      #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1, "\(total)")
    }
  }

  @Test func `the process that was started has no subscribers beside its workers, and all alone`() {
    #expect(BenchShare.rest(of: 2).subscribers(of: 7) == [])
    #expect(BenchShare.rest(of: 1).subscribers(of: 3) == [0, 1, 2])
    #expect(BenchShare.rest(of: 1) == .whole)
  }

  @Test(arguments: [BenchMode.fanout, .client, .presence], [1, 2, 3, 8])
  func `each channel is sent on by one process`(mode: BenchMode, processes: Int) {
    let all = processes == 1 ? [.whole] : workers(processes) + [.rest(of: processes)]
    for channel in 0..<20 {
      #expect(all.count { $0.sends(on: channel, mode) } == 1, "\(channel)")
    }
    for share in all {
      let sends = (0..<20).contains { share.sends(on: $0, mode) }
      #expect(share.sends(mode, channels: 20) == sends)
    }
  }

  @Test func `client events are sent by the process with the channel's first subscriber`() {
    for share in workers(3) {
      for channel in 0..<10 {
        let isOurs = share.subscribers(of: 30).contains(channel)
        #expect(share.sends(on: channel, .client) == isOurs, "\(channel)")
      }
    }
  }

  @Test func `a process without a channel sends nothing`() {
    #expect(!BenchShare.worker(2, of: 3).sends(.client, channels: 2))
    #expect(BenchShare.worker(1, of: 3).sends(.client, channels: 2))
    #expect(!BenchShare.whole.sends(.connect, channels: 5))
    #expect(!BenchShare.whole.sends(.storm, channels: 5))
  }
}

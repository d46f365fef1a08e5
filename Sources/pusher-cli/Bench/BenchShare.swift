/// The subscribers and the calls of one process of a run.
///
/// The process that the user starts can do everything. With workers it sends, and the workers have
/// the subscribers: worker 1 of 3 has the subscribers 1, 4, 7 and so on. All of them keep the
/// numbers, channels and times that they have in a run of one process, so that the shares add up
/// exactly.
struct BenchShare: Equatable, Sendable {
  /// `nil` for the process that the user started, if it has workers.
  private let worker: Int?
  /// Number of processes with subscribers.
  let processes: Int

  /// Everything, in one process.
  static let whole = BenchShare(worker: 0, processes: 1)

  static func worker(_ number: Int, of processes: Int) -> BenchShare {
    BenchShare(worker: number, processes: processes)
  }

  /// The share of the process that the user started.
  static func rest(of processes: Int) -> BenchShare {
    processes == 1 ? whole : BenchShare(worker: nil, processes: processes)
  }

  private var isWhole: Bool { self == .whole }

  /// The numbers of the subscribers, of `total`.
  func subscribers(of total: Int) -> [Int] {
    Array(stride(from: worker ?? total, to: total, by: processes))
  }

  /// Returns whether the process sends the calls of a channel.
  ///
  /// The first subscriber of each channel has the channel's number, and sends its client events.
  func sends(on channel: Int, _ mode: BenchMode) -> Bool {
    switch mode {
    case .client: worker.map { $0 == channel % processes } ?? false
    case .fanout, .presence: isWhole || worker == nil
    case .connect, .storm: false
    }
  }

  /// Returns whether the process sends any calls.
  func sends(_ mode: BenchMode, channels: Int) -> Bool {
    (0..<min(channels, processes)).contains { sends(on: $0, mode) }
  }
}

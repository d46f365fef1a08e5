internal import PusherCore

/// One run of the console, which the IDs of its messages name.
///
/// Entry numbers begin anew with each run. An ID is `INSTANCE-NUMBER`, so an ID of an earlier run
/// cannot be taken for one of this run.
struct StreamInstance: Equatable {
  /// 16 hexadecimal digits.
  let id: String

  static func unique() -> StreamInstance { StreamInstance(id: Hex.encode(SecureRandom.bytes(8))) }

  func messageID(_ number: Int) -> String { "\(id)-\(number)" }

  /// Returns the entry's number; `nil` for the ID of another run and for other text.
  func number(of messageID: String) -> Int? {
    guard let digits = messageID.dropping(prefix: id + "-"),
      digits.utf8.allSatisfy({ $0 &- 0x30 < 10 })
    else { return nil }
    return Int(digits)
  }
}

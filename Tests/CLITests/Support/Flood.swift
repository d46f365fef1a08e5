/// Data for servers that send more than anybody reads.
enum Flood {
  /// About 1 KiB of JSON.
  static let data = #"{"text":"\#(String(repeating: "flood ", count: 170))"}"#
}

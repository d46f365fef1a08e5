enum Flood {
  static let data = #"{"text":"\#(String(repeating: "flood ", count: 170))"}"#
}

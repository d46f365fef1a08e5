import PusherCluster

package struct ClusterSignature: Sendable, Equatable {
  package let keys: [String]
  package let arguments: [String]
  package let isOpen: Bool

  /// - Parameter words: The names of a row; a colon separates keys from arguments, dots stand for
  ///   further arguments.
  fileprivate init?(_ words: [String]) {
    guard let colon = words.firstIndex(of: ":") else { return nil }
    keys = Array(words[..<colon])
    arguments = words[(colon + 1)...].filter { $0 != "..." }
    isOpen = words.last == "..."
  }
}

extension ClusterCall {
  /// The signature of each operation, from the table at the script's head.
  ///
  /// A row is `NAME = [[KEY... : ARGUMENT...]],`.
  package static let signatures: [String: ClusterSignature] = {
    var all: [String: ClusterSignature] = [:]
    let lines = script.text.split(separator: "\n")
    guard let head = lines.firstIndex(of: "local operations = {"),
      let end = lines[head...].firstIndex(of: "}")
    else { return all }
    var words: [String] = []
    for line in lines[(head + 1)..<end] {
      words += line.split(separator: " ").map(String.init)
      guard line.hasSuffix("]],"), words.count > 2 else { continue }
      let names = words.dropFirst(2).map { String($0.drop { $0 == "[" }.prefix { $0 != "]" }) }
      all[words[0]] = ClusterSignature(names)
      words = []
    }
    return all
  }()

  package static func signature(of operation: String) -> ClusterSignature? { signatures[operation] }
}

extension ClusterCall {
  package init(
    _ operation: String, keys: [String], _ arguments: KeyValuePairs<String, String> = [:],
    and further: [String] = []
  ) {
    self.init(
      operation, keys: keys.map { Array($0.utf8) }, names: arguments.map(\.key),
      (arguments.map(\.value) + further).map { Array($0.utf8) })
  }

  /// True if its keys and named arguments match the script's table, in their order.
  package var fitsSignature: Bool {
    guard let signature = ClusterCall.signatures[operation] else { return false }
    let further = words.count - 1 - names.count
    return names == signature.arguments && keys.count == signature.keys.count
      && (further == 0 || signature.isOpen)
  }
}

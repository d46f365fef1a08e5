import PusherCluster

struct RedisModelCall {
  let call: ClusterCall
  let keyNames: [String]

  var operation: String { call.operation }

  /// Returns a key; the name must be in the script's table.
  func key(_ name: String) -> RedisName {
    for index in keyNames.indices where keyNames[index] == name {
      return RedisName(call.keys[index])
    }
    preconditionFailure("\(operation) has no key \(name)")
  }

  /// The argument; the name must be in the script's table.
  subscript(name: String) -> [UInt8] {
    for index in call.names.indices where call.names[index] == name {
      return call.words[index + 1]
    }
    preconditionFailure("\(operation) has no argument \(name)")
  }

  func name(_ name: String) -> RedisName { RedisName(self[name]) }

  var further: ArraySlice<[UInt8]> { call.words[(1 + call.names.count)...] }

  var isMember: Bool { self["isMember"] == [UInt8(ascii: "1")] }

  func number(_ name: String) -> Int64 {
    guard let number = Int64(decimal: self[name]) else {
      preconditionFailure("\(name) of \(operation) is no integer")
    }
    return number
  }

  func optionalNumber(_ name: String) -> Int64? { self[name].isEmpty ? nil : number(name) }
}

/// A row of fields; each is its length, a colon and its bytes.
struct RedisRow {
  private(set) var bytes: [UInt8] = []

  init(_ fields: [UInt8]...) {
    for field in fields { append(field) }
  }

  mutating func append(_ field: [UInt8]) {
    bytes += Array(String(field.count).utf8)
    bytes.append(UInt8(ascii: ":"))
    bytes += field
  }

  mutating func append(_ number: Int64) { append(Array(String(number).utf8)) }
}

extension [UInt8] {
  static func kind(_ letter: Unicode.Scalar) -> [UInt8] { [UInt8(ascii: letter)] }
}

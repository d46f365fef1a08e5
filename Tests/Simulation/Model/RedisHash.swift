/// A hash of Redis, in the order in which its fields were set.
///
/// Redis keeps that order for up to 512 fields of at most 64 bytes.
struct RedisHash {
  enum Value {
    case number(Int64)
    case text([UInt8])

    var bytes: [UInt8] {
      switch self {
      case .number(let number): Array(String(number).utf8)
      case .text(let bytes): bytes
      }
    }

    var number: Int64 {
      if case .number(let number) = self { number } else { 0 }
    }
  }

  private(set) var entries: [(field: RedisName, value: Value)] = []

  private func index(of field: RedisName) -> Int? {
    for index in entries.indices where entries[index].field == field { return index }
    return nil
  }

  subscript(field: RedisName) -> Value? {
    get { index(of: field).map { entries[$0].value } }
    set {
      switch (index(of: field), newValue) {
      case (let index?, let value?): entries[index].value = value
      case (let index?, nil): entries.remove(at: index)
      case (nil, let value?): entries.append((field, value))
      case (nil, nil): break
      }
    }
  }
}

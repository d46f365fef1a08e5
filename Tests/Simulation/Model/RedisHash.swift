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

    var number: Int64 { if case .number(let number) = self { number } else { 0 } }
  }

  /// The place of each field in `slots`; a removed field leaves an empty slot.
  private var places: [RedisName: Int] = [:]
  private var slots: [(field: RedisName, value: Value)?] = []
  /// All fields in the order of pages, in which no other field changes a field's place.
  private var order: [(place: UInt64, field: RedisName)] = []

  var count: Int { places.count }
  var entries: [(field: RedisName, value: Value)] { slots.compactMap(\.self) }

  subscript(field: RedisName) -> Value? {
    get { places[field].flatMap { slots[$0]?.value } }
    set {
      switch (places[field], newValue) {
      case (let place?, let value?): slots[place]?.value = value
      case (let place?, nil):
        slots[place] = nil
        places[field] = nil
        order.remove(at: index(from: field.place))
        if slots.count > 2 * places.count + 16 { compact() }
      case (nil, let value?):
        places[field] = slots.count
        slots.append((field, value))
        order.insert((field.place, field), at: index(from: field.place))
      case (nil, nil): break
      }
    }
  }

  private mutating func compact() {
    slots.removeAll { $0 == nil }
    for (place, slot) in slots.enumerated() { slot.map { places[$0.field] = place } }
  }

  /// Returns the index in `order` of the first entry at a place or behind it.
  private func index(from place: UInt64) -> Int {
    var (low, high) = (0, order.count)
    while low < high {
      let middle = (low + high) / 2
      if order[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns at most `count` entries from a cursor on, and the next cursor, 0 after the last entry.
  ///
  /// As in Redis, entries that stay all the time come in one of the pages.
  func page(
    from cursor: UInt64, count: Int
  ) -> (entries: [(field: RedisName, value: Value)], next: UInt64) {
    guard places.count > count || cursor > 0 else { return (entries, 0) }
    let rest = order[index(from: cursor)...]
    let page = rest.prefix(count)
    let found = page.compactMap { entry in self[entry.field].map { (entry.field, $0) } }
    return (found, page.count < rest.count ? (page.last?.place ?? 0) + 1 : 0)
  }
}

extension RedisName {
  /// A number that is the same in each run (FNV-1a), and for each field another.
  fileprivate var place: UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } >> 1
  }
}

/// Values by name in the order of arrival, with constant time to add, find and remove.
///
/// Everything is inlinable, as in ``Fifo``.
@usableFromInline
package struct OrderedTable<Value> {
  @usableFromInline internal var places = NameTable<Int>()
  @usableFromInline internal var names: [String] = []
  /// `nil` after a removal; the gaps are closed once they outnumber the values.
  @usableFromInline internal var values: [Value?] = []

  @inlinable package init() {}

  @inlinable package var count: Int { places.count }
  @inlinable package var elements: some Sequence<(name: String, value: Value)> {
    zip(names, values).lazy.compactMap { name, value in value.map { (name: name, value: $0) } }
  }

  /// A new name goes last, and `nil` removes a name; a change of a part happens in place.
  @inlinable package subscript(name: String) -> Value? {
    get { places[name].flatMap { values[$0] } }
    _modify {
      if let place = places[name] {
        yield &values[place]
        if case nil = values[place] { forget(name) }
      } else {
        var value: Value?
        yield &value
        guard let value else { return }
        places[name] = values.count
        names.append(name)
        values.append(value)
      }
    }
  }

  @inlinable internal mutating func forget(_ name: String) {
    places[name] = nil
    guard values.count > 16, places.count < values.count / 2 else { return }
    let live = elements.map { $0 }
    names = live.map(\.name)
    values = live.map(\.value)
    for (place, name) in names.enumerated() { places[name] = place }
  }
}

extension OrderedTable: Sendable where Value: Sendable {}

extension OrderedTable: Equatable where Value: Equatable {
  @usableFromInline package static func == (left: Self, right: Self) -> Bool {
    left.count == right.count
      && zip(left.elements, right.elements).allSatisfy {
        $0.name.isSame(as: $1.name) && $0.value == $1.value
      }
  }
}

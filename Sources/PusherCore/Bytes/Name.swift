/// A name or an ID as a key, compared by its bytes.
///
/// `String` compares texts as Unicode does: é as one character equals e with an accent, which are
/// different names to every server. Use ``NameTable`` and ``NameSet`` for tables by name, and
/// ``Swift/String/isSame(as:)`` instead of `==`.
@usableFromInline
package struct Name: Hashable, Sendable {
  @usableFromInline package let text: String

  @usableFromInline package init(_ text: String) { self.text = text }

  @usableFromInline package static func == (left: Name, right: Name) -> Bool {
    left.text.isSame(as: right.text)
  }

  @usableFromInline package func hash(into hasher: inout Hasher) {
    let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable {
      unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
    if isDone == nil { for byte in text.utf8 { hasher.combine(byte) } }
    // The standard library does the same, so that two names in a row do not run together.
    hasher.combine(0xFF as UInt8)
  }
}

extension String? {
  package func isSame(as other: String?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    return self.isSame(as: other)
  }
}

/// Everything is inlinable, as in ``Fifo``.
@usableFromInline
package struct NameTable<Value> {
  @usableFromInline internal var values: [Name: Value] = [:]

  @inlinable package init() {}

  @inlinable package var count: Int { values.count }
  @inlinable package var isEmpty: Bool { values.isEmpty }
  @inlinable package var names: [String] { values.keys.map(\.text) }
  @inlinable package var elements: Dictionary<Name, Value>.Values { values.values }

  @inlinable package subscript(name: String) -> Value? {
    get { values[Name(name)] }
    _modify { yield &values[Name(name)] }
  }

  @inlinable package subscript(name: String, default new: @autoclosure () -> Value) -> Value {
    get { values[Name(name)] ?? new() }
    _modify { yield &values[Name(name), default: new()] }
  }

  @inlinable @discardableResult package mutating func removeValue(of name: String) -> Value? {
    values.removeValue(forKey: Name(name))
  }

  @inlinable package mutating func removeAll() { values.removeAll() }
}

extension NameTable: Sendable where Value: Sendable {}
extension NameTable: Equatable where Value: Equatable {}

package struct NameSet: Sendable, Equatable {
  private var names: Set<Name> = []

  package init() {}

  package init(_ names: [String]) { self.names = Set(names.map(Name.init)) }

  package var count: Int { names.count }
  package var isEmpty: Bool { names.isEmpty }
  package var sorted: [String] { names.map(\.text).sorted() }

  package func contains(_ name: String) -> Bool { names.contains(Name(name)) }

  /// Returns true if the name is new.
  @discardableResult
  package mutating func insert(_ name: String) -> Bool { names.insert(Name(name)).inserted }

  /// Returns true if the name was there.
  @discardableResult
  package mutating func remove(_ name: String) -> Bool { names.remove(Name(name)) != nil }

  package mutating func removeAll() { names.removeAll() }
}

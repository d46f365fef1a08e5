/// Its bytes stay in one place, so that a line neither copies nor counts references.
package final class LeadingMembers {
  private let bytes = ByteBuffer(capacity: 64)

  package init() {}

  /// The value must need no escapes.
  package func set(_ name: StaticString, _ value: String) {
    bytes.removeAll()
    bytes.append(#"{""# as StaticString)
    bytes.append(name)
    bytes.append(#"":""# as StaticString)
    bytes.append(value)
    bytes.append(UInt8(ascii: "\""))
  }

  package func removeAll() { bytes.removeAll() }

  var count: Int { bytes.count }

  package func begin(_ output: ByteBuffer) {
    output.append(bytes.view)
    output.append(bytes.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
  }

  /// Writes the members before a line at `start`, whose `{` becomes `,`.
  @inline(__always) func write(before start: UnsafeMutablePointer<UInt8>) {
    guard !bytes.isEmpty else { return }
    let leading = bytes.view
    unsafe (start - leading.count).update(from: leading.base, count: leading.count)
    unsafe start.pointee = UInt8(ascii: ",")
  }
}

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A key, field, member or channel: bytes that compare as a whole, quickly in debug builds too.
package struct RedisName: Hashable, Sendable {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package init(_ text: String) {
    bytes = Array(text.utf8)
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.bytes.count == right.bytes.count && left.difference(from: right) == 0
  }

  package func hash(into hasher: inout Hasher) {
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }

  // Compares the bytes up to the shorter length.
  private func difference(from other: Self) -> Int32 {
    bytes.withUnsafeBytes { own in
      other.bytes.withUnsafeBytes { others in
        guard let left = own.baseAddress, let right = others.baseAddress else { return 0 }
        return memcmp(left, right, min(own.count, others.count))
      }
    }
  }
}

extension RedisName: Comparable {
  package static func < (left: Self, right: Self) -> Bool {
    let difference = left.difference(from: right)
    return difference == 0 ? left.bytes.count < right.bytes.count : difference < 0
  }
}

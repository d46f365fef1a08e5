import PusherCore
import Testing

struct `SecretBox: NaCl's crypto_secretbox` {
  private let key = Array(UInt8(0)..<32)
  private let nonce = Array(UInt8(0)..<24)

  @Test func `a box opens to what was put in, at every short length`() throws {
    let box = try #require(SecretBox(key: key))
    for length in 0...130 {
      let message = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      let sealed = box.seal(message, nonce: nonce)
      #expect(sealed.count == length + SecretBox.tagLength)
      #expect(box.open(sealed, nonce: nonce) == message)
    }
  }

  @Test func `a box with any byte changed does not open, nor does a cut one`() throws {
    let box = try #require(SecretBox(key: key))
    let sealed = box.seal(Array("hello".utf8), nonce: nonce)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(box.open(changed, nonce: nonce) == nil)
    }
    for length in sealed.indices {
      #expect(box.open(Array(sealed[..<length]), nonce: nonce) == nil)
    }
  }

  @Test func `another key and another nonce do not open it`() throws {
    let box = try #require(SecretBox(key: key))
    let other = try #require(SecretBox(key: key.reversed()))
    let sealed = box.seal(Array("hello".utf8), nonce: nonce)
    #expect(other.open(sealed, nonce: nonce) == nil)
    #expect(box.open(sealed, nonce: nonce.reversed()) == nil)
    #expect(box.open(sealed, nonce: Array(nonce.dropLast())) == nil)
  }

  @Test func `a key has 32 bytes, and no description shows it`() throws {
    #expect(SecretBox(key: []) == nil)
    #expect(SecretBox(key: Array(key.dropLast())) == nil)
    #expect(SecretBox(key: key + [0]) == nil)
    let box = try #require(SecretBox(key: key))
    #expect("\(box) \(String(reflecting: box))" == "<key> <key>")
  }
}

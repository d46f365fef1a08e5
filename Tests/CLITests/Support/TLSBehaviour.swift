import CSystemOpenSSL

@testable import PusherCore

/// TLS features of a server beside its certificate.
struct TLSBehaviour: Sendable {
  /// PEM file of authorities; a client without a certificate from one of them is refused.
  var clientAuthority: String?
  /// Newest protocol version, for example `TLS1_1_VERSION`.
  var newest: Int32?
  /// Maximum bytes of one write to the socket.
  var writeSize = Int.max
  /// OpenSSL's answer to clients that do not offer `h2` by ALPN, an alert (RFC 7301 section 3.2) or
  /// silence; `nil` for a server without ALPN.
  var withoutHTTP2: Int32?

  func apply(to context: TLSContext) {
    if let clientAuthority {
      SSL_CTX_load_verify_file(context.pointer, clientAuthority)
      SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
      let name: [UInt8] = [1]
      SSL_CTX_set_session_id_context(context.pointer, name, 1)
    }
    if let withoutHTTP2 {
      SSL_CTX_set_alpn_select_cb(
        context.pointer,
        { _, choice, length, offer, _, answer in
          TLSBehaviour.choose(choice, length, offer) ? 0 : Int32(Int(bitPattern: answer))
        }, UnsafeMutableRawPointer(bitPattern: Int(withoutHTTP2)))
    }
    if let newest {
      // Protocols before TLS 1.2 need security level 0.
      SSL_CTX_set_security_level(context.pointer, 0)
      SSL_CTX_ctrl(context.pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_VERSION), nil)
      SSL_CTX_ctrl(context.pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(newest), nil)
    }
  }
}

extension TLSBehaviour {
  /// Chooses the first protocol of a client's offer if it is `h2`.
  fileprivate static func choose(
    _ choice: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?,
    _ offer: UnsafePointer<UInt8>?
  ) -> Bool {
    guard let choice, let length, let offer, offer[0] == 2, offer[1] == UInt8(ascii: "h"),
      offer[2] == UInt8(ascii: "2")
    else { return false }
    choice.pointee = offer + 1
    length.pointee = 2
    return true
  }
}

/// TLS 1.3 messages between two pieces of data (RFC 8446 section 4.6), for scripts.
extension ScriptedConnection {
  func updateKeys() throws {
    guard let engine, SSL_key_update(engine.connection, SSL_KEY_UPDATE_REQUESTED) == 1 else {
      throw Unexpected("the keys cannot be updated")
    }
  }

  func sendTicket() throws {
    guard let engine, SSL_new_session_ticket(engine.connection) == 1 else {
      throw Unexpected("no session ticket can be sent")
    }
  }
}

extension TLSEngine {
  /// Requests new keys from the other side `times` times; its answers accumulate.
  func askForNewKeys(times: Int) throws {
    for _ in 0..<times {
      guard SSL_key_update(connection, SSL_KEY_UPDATE_REQUESTED) == 1,
        SSL_do_handshake(connection) == 1
      else { throw Unexpected("the keys cannot be updated") }
    }
  }
}

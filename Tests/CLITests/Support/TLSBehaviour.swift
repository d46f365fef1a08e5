import CSystemOpenSSL

@testable import PusherCore

/// What a server's side of TLS does besides showing its certificate.
struct TLSBehaviour: Sendable {
  /// A PEM file of authorities; a client without a certificate of one of them is refused.
  var clientAuthority: String?
  /// Nothing newer is spoken, for example `TLS1_1_VERSION`.
  var newest: Int32?
  /// How many bytes one write to the socket takes.
  var writeSize = Int.max

  func apply(to context: TLSContext) {
    if let clientAuthority {
      SSL_CTX_load_verify_file(context.pointer, clientAuthority)
      SSL_CTX_set_verify(
        context.pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
      let name: [UInt8] = [1]
      SSL_CTX_set_session_id_context(context.pointer, name, 1)
    }
    if let newest {
      // Protocols before TLS 1.2 need security level 0.
      SSL_CTX_set_security_level(context.pointer, 0)
      SSL_CTX_ctrl(context.pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_VERSION), nil)
      SSL_CTX_ctrl(context.pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(newest), nil)
    }
  }
}

/// The script's view of what TLS 1.3 may do between two pieces of data (RFC 8446 section 4.6).
extension ScriptedConnection {
  /// Changes the sending keys with the next data, and asks the client to change its own.
  func updateKeys() throws {
    guard let engine, SSL_key_update(engine.connection, SSL_KEY_UPDATE_REQUESTED) == 1 else {
      throw Unexpected("the keys cannot be updated")
    }
  }

  /// Sends a session ticket with the next data.
  func sendTicket() throws {
    guard let engine, SSL_new_session_ticket(engine.connection) == 1 else {
      throw Unexpected("no session ticket can be sent")
    }
  }
}

extension TLSEngine {
  /// Asks the other side for new keys so many times; what is to be sent waits.
  func askForNewKeys(times: Int) throws {
    for _ in 0..<times {
      guard SSL_key_update(connection, SSL_KEY_UPDATE_REQUESTED) == 1,
        SSL_do_handshake(connection) == 1
      else { throw Unexpected("the keys cannot be updated") }
    }
  }
}

/// Refuses all requests, for clients that cannot sign.
package final class NoSigner: Signer {
  package init() {}

  package func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    let what = request.channel == nil ? "sign-in" : "authorisation"
    completion(.failure(.refused(status: nil, "no \(what) method is set")))
  }

  package func cancelAll() {}
}

package final class SplitSigner: Signer {
  private let channels: any Signer
  private let user: any Signer

  package init(channels: any Signer, user: any Signer) {
    (self.channels, self.user) = (channels, user)
  }

  package func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    (request.channel == nil ? user : channels).sign(request, completion: completion)
  }

  package func cancelAll() {
    channels.cancelAll()
    user.cancelAll()
  }
}

extension Authorization {
  package static func result(of body: [UInt8], to request: AuthorizationRequest) -> Result {
    let buffer = ByteBuffer(capacity: body.count)
    buffer.append(body)
    do throws(AuthorizationFailure) {
      switch request.subject {
      case .channel: return .success(Authorization(try AuthorizationAnswer.parse(buffer.view)))
      case .user: return .success(Authorization(try AuthorizationAnswer.parseUser(buffer.view)))
      }
    } catch { return .failure(error) }
  }
}

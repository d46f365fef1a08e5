/// The former name of ``PusherService``.
///
/// It is unavailable rather than deprecated: a deprecated name would still be ambiguous in a file that imports a module
/// with a `Service` of its own, as swift-service-lifecycle is; an unavailable one gives way to it. The compiler offers
/// the new name.
@available(*, unavailable, renamed: "PusherService")
public typealias Service = PusherService

/// The former name of ``UserAuthenticator``, unavailable for the same reason as ``Service``.
@available(*, unavailable, renamed: "UserAuthenticator")
public typealias Authenticator = UserAuthenticator

internal import PusherCore

/// The endpoints of an application: `/pusher/auth` and `/pusher/user-auth`, and Laravel's
/// `/broadcasting/auth` and `/broadcasting/user-auth`.
///
/// For development only: any connected socket may subscribe to any channel as any user. The
/// endpoint signs only for sockets that are connected here, because a signature is valid on every
/// server with the app's secret. Bodies are forms or JSON objects with `socket_id`, `channel_name`,
/// and for the user `user_id`, `user_info` and `watchlist`. The default `user_id` is the socket ID.
/// Source: Pusher's page "Authorizing users"; the Fetch standard for CORS.
package struct AuthEndpoint {
  private let applications: Applications
  /// Returns the status of a staged refusal; the argument is the channel name, if there is one.
  private let refusal: (String?) -> Int?

  private static let channelPaths = ["/pusher/auth", "/broadcasting/auth"]
  private static let userPaths = ["/pusher/user-auth", "/broadcasting/user-auth"]
  static let paths = channelPaths + userPaths

  package init(_ applications: Applications, refusal: @escaping (String?) -> Int? = { _ in nil }) {
    self.applications = applications
    self.refusal = refusal
  }

  /// Answers a request; `nil` if its path is not an endpoint.
  package func answer(_ request: HTTPRequestReader.Request) -> HTTPAnswer? {
    let head = request.head
    let path = RequestTarget.path(of: head.target)
    guard Self.isOwn(path) else { return nil }
    let isForUsers = Self.userPaths.contains { $0.isSame(as: path) }
    var answer: HTTPAnswer
    switch head.method {
    case "OPTIONS": answer = .nothing
    case "POST":
      do throws(HTTPAnswer) {
        let question = try Question(request)
        let hub = try hub(for: question)
        if let status = refusal(question.fields["channel_name"]?.text) {
          throw .refusal(status, "refused by a staged fault")
        }
        answer = .json(
          isForUsers ? user(question, hub.application) : try channel(question, hub.application))
      } catch { answer = error }
    default: answer = .refusal(head.method, allow: "POST, OPTIONS")
    }
    answer.headers = Self.crossOrigin(head)
    return answer
  }

  static func isOwn(_ path: String) -> Bool { paths.contains { $0.isSame(as: path) } }

  /// Lets a page of another origin read the answer, with or without credentials.
  ///
  /// ``AccessPolicy`` has already allowed the origin.
  private static func crossOrigin(_ head: HTTPRequestHead) -> HTTPHeaders {
    guard let origin = head.headers["Origin"] else { return HTTPHeaders() }
    var headers = HTTPHeaders([
      ("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Credentials", "true"),
      ("Vary", "Origin"),
    ])
    guard head.method == "OPTIONS" else { return headers }
    headers.append("Access-Control-Allow-Methods", "POST, OPTIONS")
    let wanted = head.headers["Access-Control-Request-Headers"]
    headers.append("Access-Control-Allow-Headers", wanted ?? "Content-Type")
    headers.append("Access-Control-Max-Age", "600")
    if head.headers["Access-Control-Request-Private-Network"] == "true" {
      headers.append("Access-Control-Allow-Private-Network", "true")
    }
    return headers
  }

  private func hub(for question: Question) throws(HTTPAnswer) -> Hub {
    guard let hub = applications.hubs.first(where: { $0.hasSocket(question.socketID) }) else {
      throw .refusal(
        403, "socket \(question.socketID) is not connected here, so it gets no signature")
    }
    let key = question.fields["app_key"]?.text
    guard key == nil || key == hub.application.key else {
      throw .refusal(403, "app_key is not the key of the socket's app")
    }
    return hub
  }

  private func channel(
    _ question: Question, _ application: Application
  ) throws(HTTPAnswer) -> JSONValue {
    guard let channel = question.fields["channel_name"]?.text else {
      throw .refusal(400, "the request has no channel_name")
    }
    if let problem = ChannelName.problem(in: channel) {
      throw .refusal(400, "Invalid channel name: \(problem)")
    }
    let kind = ChannelKind(channelName: channel)
    guard kind.needsAuthorization else {
      throw .refusal(403, "\(channel) is public and needs no authorisation")
    }
    let member = JSONValue.object(present: [
      "user_id": question.member, "user_info": question.fields["user_info"],
    ])
    let data = kind == .presence ? JSONWriter.text(member) : nil
    let auth = application.signature.authorize(
      socketID: question.socketID, channel: channel, channelData: data)
    let secret = application.masterKey?.sharedSecret(channel: channel)
    guard kind != .encrypted || secret != nil else {
      throw .refusal(403, "\(channel) is encrypted, and the server has no encryption key")
    }
    return .object(texts: [
      "auth": auth.auth, "channel_data": data, "shared_secret": kind == .encrypted ? secret : nil,
    ])
  }

  private func user(_ question: Question, _ application: Application) -> JSONValue {
    let user = JSONValue.object(present: [
      "id": .string(question.userID), "user_info": question.fields["user_info"],
      "watchlist": question.fields["watchlist"],
    ])
    let data = JSONWriter.text(user)
    let auth = application.signature.signIn(socketID: question.socketID, userData: data)
    return ["auth": .string(auth), "user_data": .string(data)]
  }
}

private struct Question {
  let socketID: String
  /// Form values that look like JSON objects or arrays are parsed; all others are strings.
  let fields: JSONValue

  init(_ request: HTTPRequestReader.Request) throws(HTTPAnswer) {
    let type = request.head.headers["Content-Type"]?.prefix { $0 != ";" }.lowercased() ?? ""
    fields =
      try type.ends(with: "json")
      ? HTTPAnswer.object(ofBody: request.body)
      : Self.form(HTTPAnswer.text(ofBody: request.body))
    guard let socketID = fields["socket_id"]?.text, SocketID.isValid(socketID) else {
      throw .refusal(400, "socket_id is missing or not two numbers joined by a dot")
    }
    self.socketID = socketID
  }

  var userID: String {
    guard let id = fields["user_id"]?.identifier, !id.isEmpty else { return socketID }
    return id
  }

  /// Keeps a numeric ID a number: applications with numeric IDs sign numbers.
  var member: JSONValue {
    guard case .number = fields["user_id"], let id = fields["user_id"] else {
      return .string(userID)
    }
    return id
  }

  private static func form(_ body: String) throws(HTTPAnswer) -> JSONValue {
    guard let form = RequestTarget("/?" + body) else {
      throw .refusal(400, "the form is not percent-encoded UTF-8")
    }
    return .object(
      form.parameters.map { name, value in
        let isComposed = value.begins(with: "{") || value.begins(with: "[")
        let composed = isComposed ? try? JSONParser.parse(value) : nil
        return .init(name, composed ?? .string(value))
      })
  }
}

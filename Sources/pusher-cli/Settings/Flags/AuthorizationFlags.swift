extension Flag {
  static let authorizing: [Flag] = [
    .authEndpoint, .authHeader, .authParam, .authCommand, .userID, .userInfo, .encryptionKeyFile,
    .signIn, .userAuthEndpoint, .userAuthCommand, .watch,
  ]

  /// Exclusions of the endpoint and the command, for a flag of signing with the secret.
  private static func answered(
    _ name: String, by ways: String = "auth-", _ answer: String
  ) -> [Exclusion] {
    [ways + "endpoint", ways + "command"].map {
      Exclusion($0, "--\(name) is for signing with the secret; --\($0) \(answer)")
    }
  }

  static let authEndpoint = Flag(
    "auth-endpoint", .text("URL"), shows: .place, excludes: ["auth-command", "secret-file"],
    of: .joining, in: .authorization, summary: "ask the application, as pusher-js does",
    manual: """
      Ask the application for the authorisation of each channel, as pusher-js does: by a form with `socket_id` and
      `channel_name`.
      """)

  static let authHeader = Flag(
    "auth-header", .text("HEADER"), isRepeatable: true, shows: .field,
    needs: ["auth-endpoint", "user-auth-endpoint"], of: .joining, in: .authorization,
    summary: "'NAME: VALUE' for the endpoint, or @FILE of such",
    manual: """
      Send HEADER, written `name: value`, to the endpoint. `@FILE` takes such lines from a file, and so keeps a token
      out of the process list. May be repeated.
      """)

  static let authParam = Flag(
    "auth-param", .text("K=V"), isRepeatable: true, shows: .parameter,
    needs: ["auth-endpoint", "user-auth-endpoint"], of: .joining, in: .authorization,
    summary: "form field for the endpoint",
    manual: "Send one more form field to the endpoint. May be repeated.")

  static let authCommand = Flag(
    "auth-command", .text("CMD"), shows: .program, excludes: ["secret-file"], of: .joining,
    in: .authorization, summary: "shell command that prints the authorisation",
    manual: """
      Run CMD with sh(1) and take the authorisation it prints: the JSON an endpoint would answer. The command finds
      the question in the variables PUSHER_CLI_CHANNEL and PUSHER_CLI_SOCKET_ID. A status other than 0 is a refusal.
      """)

  static let userID = Flag(
    "user-id", .text("ID"), excludes: answered("user-id", "names the member itself"), of: .joining,
    in: .authorization, summary: "member on presence channels, and user of --sign-in",
    manual: """
      Appear as member ID on presence channels that are signed with the secret. Without it the connection is a member
      of its own, named by its socket id.
      """)

  static let userInfo = Flag(
    "user-info", .text("JSON"), shows: .nothing,
    excludes: answered("user-info", "names the member itself"), needs: ["user-id"], of: .joining,
    in: .authorization, summary: "information for other members; @FILE reads a file",
    manual: "The member's information, which other members see. `@FILE` reads a file.")

  static let encryptionKeyFile = Flag(
    "encryption-key-file", .text("FILE"),
    excludes: answered("encryption-key-file", "brings the keys itself"),
    of: [.subscribe, .trigger, .auth, .serve], in: .authorization,
    summary: "base64 master key of encrypted channels",
    manual: """
      Read the app's master key, the base64 of 32 bytes, from FILE. It opens the events of `private-encrypted-`
      channels that are signed with the secret, and encrypts what `trigger` sends to them; `auth` adds the key of the
      channel to its answer. An endpoint or command brings the key of each channel with its answer. If an event cannot
      be decrypted, authorisation is asked for once more; an event that still cannot is reported and not printed.
      """)

  static let signIn = Flag(
    "sign-in", of: .joining, in: .authorization,
    summary: "sign the user in; prints the user's own events",
    manual: """
      Sign the user in, before channels are subscribed to, on every connection. The user's own events are printed, on
      channel `#server-to-user-ID`; no other channel need be named. Without the two options below the sign-in is
      signed with the secret, for the user of --user-id and --user-info.
      """)

  static let userAuthEndpoint = Flag(
    "user-auth-endpoint", .text("URL"), shows: .place, excludes: ["user-auth-command"],
    of: [.subscribe], in: .authorization, summary: "ask the application who the user is",
    manual: """
      Ask the application who the user is: the endpoint gets a form with `socket_id` and answers `auth` and
      `user_data`. --auth-header and --auth-param count here too. Implies --sign-in.
      """)

  static let userAuthCommand = Flag(
    "user-auth-command", .text("CMD"), shows: .program, of: [.subscribe], in: .authorization,
    summary: "shell command that prints who the user is",
    manual: """
      Run CMD, which prints what the endpoint would answer; it finds the question in PUSHER_CLI_SOCKET_ID. Implies
      --sign-in.
      """)

  static let watch = Flag(
    "watch", .text("ID"), isRepeatable: true,
    excludes: answered("watch", by: "user-auth-", "names the users itself"), needs: ["sign-in"],
    of: [.subscribe], in: .authorization, summary: "tell when user ID comes online or goes offline",
    manual: "Tell when user ID comes online or goes offline, with --sign-in. May be repeated.")
}

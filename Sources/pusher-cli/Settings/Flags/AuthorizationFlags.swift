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
    of: .authorizing, in: .authorization, summary: "ask URL for authorisation, as pusher-js does",
    manual: """
      Ask the application at URL for the authorisation of each channel. Like pusher-js, the program sends a form with
      `socket_id` and `channel_name`.
      """)

  static let authHeader = Flag(
    "auth-header", .text("HEADER"), isRepeatable: true, shows: .field,
    needs: ["auth-endpoint", "user-auth-endpoint"], of: .authorizing, in: .authorization,
    summary: "send the endpoint 'NAME: VALUE', or @FILE's lines",
    manual: """
      Send the header field HEADER to the endpoint, as `name: value`. `@FILE` sends the lines of a file, which keeps a
      token out of the process list. May be repeated.
      """)

  static let authParam = Flag(
    "auth-param", .text("K=V"), isRepeatable: true, shows: .parameter,
    needs: ["auth-endpoint", "user-auth-endpoint"], of: .authorizing, in: .authorization,
    summary: "send one more form field to the endpoint",
    manual: "Send one more form field to the endpoint. May be repeated.")

  static let authCommand = Flag(
    "auth-command", .text("CMD"), shows: .program, excludes: ["secret-file"], of: .authorizing,
    in: .authorization, summary: "run CMD, which prints the authorisation",
    manual: """
      Run CMD with sh(1), and use the authorisation that it prints. This is the JSON that an endpoint would answer. CMD
      finds the question in the variables PUSHER_CLI_CHANNEL and PUSHER_CLI_SOCKET_ID. A status other than 0 is a
      refusal.
      """)

  static let userID = Flag(
    "user-id", .text("ID"), excludes: answered("user-id", "names the member itself"), of: .joining,
    in: .authorization, summary: "use ID on presence channels and for --sign-in",
    manual: """
      Appear as member ID on presence channels that are signed with the secret. Without this option, each connection is
      a separate member, named by its socket id.
      """)

  static let userInfo = Flag(
    "user-info", .text("JSON"), shows: .nothing,
    excludes: answered("user-info", "names the member itself"), needs: ["user-id"], of: .joining,
    in: .authorization, summary: "show JSON to other members; @FILE reads a file",
    manual: "Show JSON to other members as information about this member. `@FILE` reads a file.")

  static let encryptionKeyFile = Flag(
    "encryption-key-file", .text("FILE"),
    excludes: answered("encryption-key-file", "returns the keys itself"),
    of: [.subscribe, .trigger, .auth, .serve, .check, .bench], in: .authorization,
    summary: "read the base64 master key of encrypted channels",
    manual: """
      Read the app's master key, the base64 of 32 bytes, from FILE. The key decrypts the events of `private-encrypted-`
      channels that are signed with the secret. It also encrypts what `trigger` sends to them, and `auth` adds the key
      of the channel to its answer. An endpoint or command supplies the key of each channel with its answer. If an
      event cannot be decrypted, the program asks for authorisation once more. If that does not help, the program
      reports the event and does not print it.
      """)

  static let signIn = Flag(
    "sign-in", of: [.subscribe], in: .authorization,
    summary: "sign the user in and print the user's own events",
    manual: """
      Sign the user in on every connection, before the subscriptions. The program prints the user's own events, on
      channel `#server-to-user-ID`. You need not name another channel. By default, the secret signs the sign-in of
      --user-id and --user-info. --user-auth-endpoint or --user-auth-command replaces it.
      """)

  static let userAuthEndpoint = Flag(
    "user-auth-endpoint", .text("URL"), shows: .place, excludes: ["user-auth-command"],
    of: [.subscribe], in: .authorization, summary: "ask URL who the user is",
    manual: """
      Ask the application at URL who the user is. The endpoint gets a form with `socket_id` and answers with `auth` and
      `user_data`. --auth-header and --auth-param apply here too. Implies --sign-in.
      """)

  static let userAuthCommand = Flag(
    "user-auth-command", .text("CMD"), shows: .program, of: [.subscribe], in: .authorization,
    summary: "run CMD, which prints who the user is",
    manual: """
      Run CMD, which prints what the endpoint would answer. PUSHER_CLI_SOCKET_ID holds the socket id. Implies
      --sign-in.
      """)

  static let watch = Flag(
    "watch", .text("ID"), isRepeatable: true,
    excludes: answered("watch", by: "user-auth-", "names the users itself"), needs: ["sign-in"],
    of: [.subscribe], in: .authorization, summary: "report when user ID goes online or offline",
    manual: "Report when user ID goes online or offline, with --sign-in. May be repeated.")
}

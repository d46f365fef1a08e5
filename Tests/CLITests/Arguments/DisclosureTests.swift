import Foundation
import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

/// Disclosure of settings: each row says if its value is secret.
@Suite("Secrets in settings") struct DisclosureTests {
  private static let marker = "SESAME"

  /// Returns values with a secret in them, in good forms and odd ones; none for rows without
  /// secrets.
  private static func forms(_ disclosure: Disclosure) -> [String] {
    switch disclosure {
    case .whole: []
    case .field:
      [
        "X-Token: SESAME", "X-Token:SESAME", "SESAME", "X-Token=SESAME", "Bearer SESAME: x",
        "X-Token: a:SESAME", "SESAME==", "=SESAME:", "e\u{301}SESAME: x", ":SESAME", "X: @SESAME",
      ]
    case .parameter:
      ["token=SESAME", "token=a=SESAME", "SESAME", "token:SESAME", "a SESAME=b", "=SESAME"]
        + ["a=@SESAME"]
    case .place: places
    case .address: ["u:SESAME@host:1", "SESAME@:1", "SESAME@a@host", "u:a/SESAME@h:1"]
    case .program:
      ["curl -H SESAME", "TOKEN=SESAME cmd", "  a SESAME", "'SESAME'", "a\tSESAME", "a;SESAME"]
        + ["e\u{301}SESAME"]
    case .nothing: ["SESAME", "{\"a\":\"SESAME\"}", " SESAME", "a=SESAME"]
    }
  }

  private static let places =
    ["u:SESAME@host:1", "//u:SESAME@", "//u:SESAME@host", "http:u:SESAME@", "socks5h:u:SESAME@"]
    + ["http", "https", "socks5h", "redis", "HTTPS", "ws", "a b"].flatMap { scheme in
      [
        "u:SESAME@host:1/", "SESAME@host", "host/SESAME", "host?SESAME", "host/p?q=SESAME",
        "host#SESAME", "u:a/SESAME@host", "u:a?SESAME@host", "u:a#SESAME@host", "u:a@SESAME@host",
        "SESAME @host", "host:SESAME", "u:SESAME@", "@SESAME@", "u:SESAME@host:port", "[SESAME]",
        "host /SESAME", "u:\u{301}SESAME@host", "host:1/hooks/SESAME/", "h,SESAME@h,h:1/SESAME",
      ].map { "\(scheme)://\($0)" }
    }

  @Test(arguments: Flag.all.indices)
  func `no form of a value shows what is secret in it`(index: Int) {
    let flag = Flag.all[index]
    for text in Self.forms(flag.disclosure) {
      let shown = flag.disclosure.shown(text)
      #expect(!shown.contains(Self.marker), "\(flag.spelling) \(text): \(shown)")
    }
  }

  @Test func `each row of a kind that holds secrets shows a part of its value`() {
    let shown = Flag.all.filter {
      if case .whole = $0.disclosure { false } else { true }
    }.map(\.name)
    #expect(
      Set(shown) == [
        "header", "auth-header", "forward-header", "auth-param", "header-command", "auth-command",
        "user-auth-command", "exec", "on-ready", "on-gap", "on-idle", "forward", "auth-endpoint",
        "user-auth-endpoint", "proxy", "redis", "webhook", "to", "url", "data", "user-info",
        "signature", "api-url", "listen", "metrics",
      ])
    // A new row of these kinds must declare its disclosure.
    for flag in Flag.all where ["URL", "CMD", "HEADER", "K=V", "BODY"].contains(flag.metavariable) {
      #expect(shown.contains(flag.name), "\(flag.spelling)")
    }
  }

  @Test(arguments: [
    (Disclosure.place, "https://u:p@host:1/x?y", "https://host:1"),
    (.place, "u:p@host:1", "host:1"), (.place, "", ""), (.place, "@file", "@file"),
    (.place, "redis+sentinel://:p@a:1,b:2/name/0", "redis+sentinel://a:1,b:2"),
    (.place, "http://[::1]:8080/", "http://[::1]:8080"), (.place, "not a url", "…"),
    (.address, "u:p@:6001", "…@:6001"), (.address, ":6001", ":6001"),
    (.field, "X-Token: a", "X-Token:…"), (.field, "@file", "@file"), (.field, "a", "…"),
    (.parameter, "k=v", "k=…"), (.program, "vault read x", "vault …"),
    (.program, "/usr/bin/true", "/usr/bin/true"), (.program, "A=b c", "…"), (.nothing, "x", "…"),
    (.nothing, "@file", "@file"), (.whole, "x", "x"),
  ])
  func `what is no secret is shown`(disclosure: Disclosure, text: String, shown: String) {
    #expect(disclosure.shown(text) == shown)
  }

  /// Returns what the program says about these settings before the command runs.
  private func said(
    _ command: Command, _ words: [String], _ environment: [String: String] = [:],
    config: String = ""
  ) -> String {
    let operands: [Command: [String]] = [
      .sse: ["http://127.0.0.1:1/"], .subscribe: ["private-a"], .webhook: ["listen"],
      .channels: ["a"], .users: ["presence-a"], .auth: ["private-a"], .terminate: ["7"],
      .sign: ["channel"], .verify: ["channel"],
    ]
    return Preview(
      [command.rawValue] + (operands[command] ?? []) + words,
      Self.app.merging(environment) { $1 },
      files: PretendFiles(contents: ["config": config]).access
    ).text
  }

  /// An app whose server nobody runs: port 1.
  private static let app = [
    "PUSHER_APP_KEY": "k", "PUSHER_APP_ID": "1", "PUSHER_HOST": "127.0.0.1", "PUSHER_PORT": "1",
    "PUSHER_SCHEME": "http",
  ]

  private static let secretive = Flag.all.filter { !forms($0.disclosure).isEmpty }

  @Test(arguments: secretive.indices)
  func `no secret of an option is told, whether it is typed or in a file`(index: Int) throws {
    let flag = Self.secretive[index]
    let command = try #require(
      Command.allCases.first { flag.commands.contains($0) && Set<Command>.talking.contains($0) })
    // The path of these URLs is that of --path, which is no secret.
    let pathIsShown = ["url", "api-url"].contains(flag.name)
    for form in Self.forms(flag.disclosure) where !pathIsShown || !form.contains("/SESAME") {
      let filed = said(
        command, ["--config", "config"], config: "[\(command.rawValue)]\n\(flag.name) = \(form)\n")
      #expect(!filed.contains(Self.marker), "\(flag.spelling) \(form): \(filed)")
      let typed = said(command, ["\(flag.spelling)=\(form)"])
      #expect(!typed.contains(Self.marker), "\(flag.spelling) \(form): \(typed)")
    }
  }

  @Test(arguments: [
    "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "PUSHER_APP_SECRET", "PUSHER_URL",
    "PUSHER_ENCRYPTION_MASTER_KEY", "REVERB_APP_SECRET", "SOKETI_DEFAULT_APP_SECRET",
    "PUSHER_CLI_REDIS_URL",
  ])
  func `no secret of a variable is told`(name: String) {
    for form in ["u:SESAME@host:1", "//u:SESAME@", "http:u:SESAME@", "http://u:SESAME@h:1/SESAME"] {
      for command in [Command.subscribe, .serve] {
        let text = said(command, [], [name: form])
        #expect(!text.contains(Self.marker), "\(name) \(form): \(text)")
      }
    }
  }

  @Test(arguments: [
    "secret = SESAME", "[profile a]\nAuthorization: Bearer SESAME==", "[profile a]\nSESAME",
    "[profile a]\nfoo SESAME = 1", "[subscribe]\nheader SESAME", "[subscribe]\nheader = SESAME",
    "[subscribe]\nauth-param = SESAME", "[profile default]\nsecret = SESAME\nkye = 1",
  ])
  func `no line of a configuration file that has no meaning is told`(text: String) {
    let said = said(.subscribe, ["--config", "config"], config: text + "\n")
    #expect(said.contains("error: "), "\(said)")
    #expect(!said.contains(Self.marker), "\(text): \(said)")
  }

  /// Nobody listens on port 1, so that each run says all that it says about a failure.
  @Test(
    .runsPrograms,
    arguments: [
      (
        "subscribe private-a",
        """
        header = X-Token: SESAME
        auth-endpoint = http://127.0.0.1:1/SESAME
        auth-header = X-Token: SESAME
        auth-param = token=SESAME
        on-ready = true SESAME
        exec = true SESAME
        """
      ),
      (
        "sse http://127.0.0.1:1/SESAME?SESAME",
        """
        header-command = echo X-Token: SESAME
        forward = http://127.0.0.1:1/SESAME
        forward-header = X-Token: SESAME
        data = SESAME
        """
      ),
      ("channels", "header = X-Token: SESAME"),
    ])
  func `a run that fails tells no secret of its settings`(line: String, options: String) throws {
    let words = line.split(separator: " ").map(String.init)
    let config = try TemporaryFolder.shared.file("config", holding: "[\(words[0])]\n\(options)\n")
    let trace = TemporaryFolder.shared.file("trace")
    let isTraced = words[0] != "channels"
    let secrets = ["PUSHER_APP_SECRET": "SESAME", "ALL_PROXY": "http://u:SESAME@127.0.0.1:1"]
    let result = try PusherCLI.run(
      words + ["--config", config, "-vv"]
        + (isTraced ? ["--trace", trace, "--reconnect", "never"] : []),
      environment: Self.app.merging(secrets) { $1 })
    #expect(result.ending == .exited(4) && result.output.isEmpty, "\(result.errorText)")
    #expect(result.errorText.contains(" line 2\n"), "the origin of a setting is shown")
    #expect(!result.errorText.contains(Self.marker), "\(result.errorText)")
    let traced = isTraced ? try String(contentsOfFile: trace, encoding: .utf8) : ""
    #expect(!traced.contains(Self.marker), "\(traced)")
  }

  @Test func `an unknown option is named without what follows its name`() {
    #expect(refusal(of: "subscribe --heade:SESAME") == "unknown option '--heade…'")
  }
}

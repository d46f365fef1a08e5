import Foundation
import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

/// Disclosure of settings: each row says if its value is secret.
@Suite("Secrets in settings", .runsPrograms)
struct DisclosureTests {
  private static let marker = "SESAME"

  /// Returns values with a secret in them, in good forms and odd ones.
  ///
  /// Rows without secrets give none.
  private static func forms(_ disclosure: Disclosure) -> [String] {
    switch disclosure {
    case .whole: []
    case .field:
      [
        "X-Token: SESAME", "X-Token:SESAME", "SESAME", "X-Token=SESAME", "Bearer SESAME: x",
        "X-Token: a:SESAME", "SESAME==", "=SESAME:", "e\u{301}SESAME: x", ":SESAME", "X: @SESAME",
      ]
    case .parameter:
      [
        "token=SESAME", "token=a=SESAME", "SESAME", "token:SESAME", "a SESAME=b", "=SESAME",
        "a=@SESAME",
      ]
    case .place:
      ["u:SESAME@host:1", "//u:SESAME@", "//u:SESAME@host", "http:u:SESAME@", "socks5h:u:SESAME@"]
        + ["http", "https", "socks5h", "redis", "HTTPS", "ws", "a b"].flatMap { scheme in
          [
            "u:SESAME@host:1/", "SESAME@host", "host/SESAME", "host?SESAME", "host/p?q=SESAME",
            "host#SESAME", "u:a/SESAME@host", "u:a?SESAME@host", "u:a#SESAME@host",
            "u:a@SESAME@host",
            "SESAME @host", "host:SESAME", "u:SESAME@", "@SESAME@", "u:SESAME@host:port",
            "[SESAME]",
            "host /SESAME", "u:\u{301}SESAME@host", "host:1/hooks/SESAME/", "h,SESAME@h,h:1/SESAME",
          ].map { "\(scheme)://\($0)" }
        }
    case .program:
      [
        "curl -H SESAME", "TOKEN=SESAME cmd", "  a SESAME", "'SESAME'", "a\tSESAME", "a;SESAME",
        "e\u{301}SESAME",
      ]
    case .nothing: ["SESAME", "{\"a\":\"SESAME\"}", " SESAME", "a=SESAME"]
    }
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
        "user-auth-command", "exec", "on-ready", "on-gap", "forward", "auth-endpoint",
        "user-auth-endpoint", "proxy", "redis", "webhook", "to", "url", "data", "user-info",
        "signature", "api-url",
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
    (.field, "X-Token: a", "X-Token:…"), (.field, "@file", "@file"), (.field, "a", "…"),
    (.parameter, "k=v", "k=…"), (.program, "vault read x", "vault …"),
    (.program, "/usr/bin/true", "/usr/bin/true"), (.program, "A=b c", "…"), (.nothing, "x", "…"),
    (.nothing, "@file", "@file"), (.whole, "x", "x"),
  ])
  func `what is no secret is shown`(disclosure: Disclosure, text: String, shown: String) {
    #expect(disclosure.shown(text) == shown)
  }

  /// Returns the program's output for these settings, from `config` and from a verbose run that
  /// fails early.
  private func said(
    _ command: Command, _ words: [String], _ environment: [String: String] = [:]
  ) throws -> String {
    let trace = TemporaryFolder.shared.file("trace")
    var texts: [String] = []
    let isTraced = Flag.of(command).contains(.trace)
    let operands: [Command: [String]] = [
      .sse: ["http://127.0.0.1:1/"], .subscribe: ["private-a"], .webhook: ["listen"],
      .channels: ["a"], .users: ["presence-a"], .auth: ["private-a"], .terminate: ["7"],
      .sign: ["channel"], .verify: ["channel"],
    ]
    let app = ["PUSHER_APP_KEY": "k", "PUSHER_APP_ID": "1", "PUSHER_HOST": "127.0.0.1"]
      .merging(["PUSHER_PORT": "1", "PUSHER_SCHEME": "http"]) { $1 }
    let environment = app.merging(environment) { $1 }
    var runs = [["config", command.rawValue] + words]
    // These commands would keep running.
    if command != .serve, command != .webhook {
      runs.append(
        [command.rawValue] + (operands[command] ?? []) + words + ["-vv"]
          + (isTraced ? ["--trace", trace] : []))
    }
    for run in runs {
      let result = try PusherCLI.start(run, environment: environment).result()
      texts += [result.outputText, result.errorText]
    }
    texts.append((try? String(contentsOfFile: trace, encoding: .utf8)) ?? "")
    return texts.joined()
  }

  private static let secretive = Flag.all.filter { !forms($0.disclosure).isEmpty }

  @Test(arguments: secretive.indices)
  func `no secret of an option is told, whether it stands in a file or was typed`(
    index: Int
  ) throws {
    let flag = Self.secretive[index]
    let command = try #require(
      Command.allCases.first { flag.commands.contains($0) && Set<Command>.talking.contains($0) })
    // A random sample: the unit test above covers all forms.
    var random = SeededGenerator(seed: UInt64(index))
    // The path of --url is that of --path, which is no secret.
    let pathIsShown = flag.name == "url"
    let forms = Self.forms(flag.disclosure)
      .filter { !pathIsShown || !$0.contains("/SESAME") }
      .shuffled(using: &random).prefix(3)
    for form in forms {
      let config = try TemporaryFolder.shared.file(
        "config", holding: "[\(command.rawValue)]\n\(flag.name) = \(form)\n")
      let filed = try said(command, ["--config", config])
      #expect(!filed.contains(Self.marker), "\(flag.spelling) \(form): \(filed)")
      let typed = try said(command, ["\(flag.spelling)=\(form)"])
      #expect(!typed.contains(Self.marker), "\(flag.spelling) \(form): \(typed)")
    }
  }

  @Test(arguments: [
    "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "PUSHER_APP_SECRET", "PUSHER_URL",
    "PUSHER_ENCRYPTION_MASTER_KEY", "REVERB_APP_SECRET", "SOKETI_DEFAULT_APP_SECRET",
    "PUSHER_CLI_REDIS_URL",
  ])
  func `no secret of a variable is told`(name: String) throws {
    for form in ["u:SESAME@host:1", "//u:SESAME@", "http:u:SESAME@", "http://u:SESAME@h:1/SESAME"] {
      for command in [Command.subscribe, .serve] {
        let text = try said(command, [], [name: form])
        #expect(!text.contains(Self.marker), "\(name) \(form): \(text)")
      }
    }
  }

  @Test(arguments: [
    "secret = SESAME", "[profile a]\nAuthorization: Bearer SESAME==", "[profile a]\nSESAME",
    "[profile a]\nfoo SESAME = 1", "[subscribe]\nheader SESAME", "[subscribe]\nheader = SESAME",
    "[subscribe]\nauth-param = SESAME", "[profile default]\nsecret = SESAME\nkye = 1",
  ])
  func `no line of a configuration file that has no meaning is told`(text: String) throws {
    let config = try TemporaryFolder.shared.file("config", holding: text + "\n")
    let said = try said(.subscribe, ["--config", config])
    #expect(!said.contains(Self.marker), "\(text): \(said)")
  }

  @Test func `an unknown option is named without what follows its name`() {
    #expect(
      refusal(of: "subscribe --heade:SESAME") == "unknown option '--heade…'")
  }
}

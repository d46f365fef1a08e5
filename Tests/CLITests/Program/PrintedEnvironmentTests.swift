import Foundation
import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

@Suite("serve --print-env in a shell", .runsPrograms) struct PrintedEnvironmentTests {
  @Test func `a shell takes each secret of --print-env as it is`() throws {
    var random = SeededGenerator(seed: 22)
    let signs = [
      "\"", "\u{301}", "\\", "$", "`", "\u{338}", ";", " ", "(", ")", "x", "'", "\u{200D}", "#",
      "\r", "!", "&", "=", "\u{1F1E6}",
    ]
    var secrets = [
      "\"\u{301}; touch \(Self.forbidden) #", "\\\u{301}\"\u{301}`\u{301}id`", "$\u{301}(id)",
    ]
    for _ in 0..<200 {
      secrets.append((0...random.below(12)).map { _ in signs[random.below(signs.count)] }.joined())
    }
    let apps = secrets.enumerated().map { index, secret in
      JSONValue.object([
        .init("id", .string("\(index)")), .init("key", .string("k\(index)")),
        .init("secret", .string(secret)),
      ])
    }
    let files = PretendFiles(contents: ["apps": JSONWriter.text(.array(apps))])
    let block = try serve("--apps apps", files: files).environmentBlock(port: 1)
    let script = block.replacing(
      "PUSHER_APP_CLUSTER=mt1", with: "printf '%s\\0' \"$PUSHER_APP_SECRET\"")
    let result = try PusherCLI.tool(["sh"], input: Array(script.utf8))
    #expect(result.output.split(separator: 0).map(Array.init) == secrets.map { Array($0.utf8) })
    #expect(!FileManager.default.fileExists(atPath: Self.forbidden))
    for (secret, text) in zip(secrets, block.pieces(separatedBy: "# app ").dropFirst()) {
      let variables = try DotEnv(parsing: "# app " + text) { _ in nil }.variables
      #expect(variables["PUSHER_APP_SECRET"]?.utf8.elementsEqual(secret.utf8) == true)
    }
  }

  private static let forbidden = TemporaryFolder.shared.file("forbidden")
}

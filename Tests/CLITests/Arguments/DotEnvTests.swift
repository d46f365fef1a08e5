import Foundation
import Testing

@testable import pusher_cli

/// `.env` files as frameworks write them.
@Suite struct `Files of variables` {
  private static func read(_ text: String) throws -> DotEnv {
    try DotEnv(parsing: text) { $0 == "OUTER" ? "from outside" : nil }
  }

  /// Files that this program and python-dotenv read alike, each with all its variables.
  private static let common: [(file: String, variables: [String: String])] = [
    ("A=1", ["A": "1"]),
    ("A=1\nB=2\n", ["A": "1", "B": "2"]),
    ("A=1\r\nB=2\r\n", ["A": "1", "B": "2"]),
    ("A=1\rB=2\r", ["A": "1", "B": "2"]),
    ("\n\n  \n A = 1 \n\t\n", ["A": "1"]),
    ("A=", ["A": ""]),
    ("A=\nB=2", ["A": "", "B": "2"]),
    ("A=\"\"\nB=''", ["A": "", "B": ""]),
    ("# a comment\nA=1 # another\n  # and one more\n", ["A": "1"]),
    ("A=1#2\nB=#3", ["A": "1#2", "B": "#3"]),
    ("A=\"1 # 2\" # 3\nB='1 # 2'", ["A": "1 # 2", "B": "1 # 2"]),
    ("export A=1\nexport\tB=\"2\"", ["A": "1", "B": "2"]),
    ("exported=1\nexport=2", ["exported": "1", "export": "2"]),
    ("A='it''s'\nB=1", ["B": "1"]),
    ("A=two words\nB=  three more words  ", ["A": "two words", "B": "three more words"]),
    ("A=\"two words\"\nB='  kept  '", ["A": "two words", "B": "  kept  "]),
    ("A=\"a\\nb\\tc\\\"d\\\\e\"", ["A": "a\nb\tc\"d\\e"]),
    ("A='a\\nb\\'c\\\\d'", ["A": "a\\nb'c\\d"]),
    ("A=a\\nb", ["A": "a\\nb"]),
    ("A=\"one\ntwo\nthree\"\nB=2", ["A": "one\ntwo\nthree", "B": "2"]),
    ("A='one\n\ntwo'\nB=2", ["A": "one\n\ntwo", "B": "2"]),
    ("A=1\nB=${A}2\nC=\"${B}3\"", ["A": "1", "B": "12", "C": "123"]),
    ("A=${B}\nB=1", ["A": "", "B": "1"]),
    ("A=${OUTER}!", ["A": "from outside!"]),
    ("OUTER=inside\nA=${OUTER}", ["OUTER": "inside", "A": "inside"]),
    ("A=${NONE:-standard}\nB=${OUTER:-standard}", ["A": "standard", "B": "from outside"]),
    ("A=$B $ {C} ${D", ["A": "$B $ {C} ${D"]),
    ("A=1\nA=2\n", ["A": "2"]),
    ("A=1\nthis is no statement\nB=2", ["A": "1", "B": "2"]),
    ("A=\"no end\nB=2\n", ["B": "2"]),
    ("A=\"1\" 2\nB=2\n", ["B": "2"]),
    ("A\nB=2\nexport C\n", ["B": "2"]),
    ("'A'=1\n'B C' = 2", ["A": "1", "B C": "2"]),
    ("A==1\nB=a=b=c", ["A": "=1", "B": "a=b=c"]),
    ("A=Grüße 日本 😀\nB=\"é\"", ["A": "Grüße 日本 😀", "B": "é"]),
    ("A=\u{0B}1\u{0C}\n", ["A": "1"]),
    ("A.B-C=1\n1=2", ["A.B-C": "1", "1": "2"]),
    (
      "APP_NAME=Laravel\nAPP_KEY=base64:dGVzdA==\nAPP_URL=http://localhost\n\nLOG_CHANNEL=stack\n"
        + "DB_PASSWORD=\nBROADCAST_CONNECTION=pusher\n\nPUSHER_APP_ID=1\nPUSHER_APP_KEY=key\n"
        + "PUSHER_APP_SECRET=secret\nPUSHER_HOST=\nPUSHER_PORT=443\nPUSHER_SCHEME=https\n"
        + "PUSHER_APP_CLUSTER=mt1\n\nVITE_APP_NAME=\"${APP_NAME}\"\n"
        + "VITE_PUSHER_APP_KEY=\"${PUSHER_APP_KEY}\"\n",
      [
        "APP_NAME": "Laravel", "APP_KEY": "base64:dGVzdA==", "APP_URL": "http://localhost",
        "LOG_CHANNEL": "stack", "DB_PASSWORD": "", "BROADCAST_CONNECTION": "pusher",
        "PUSHER_APP_ID": "1", "PUSHER_APP_KEY": "key", "PUSHER_APP_SECRET": "secret",
        "PUSHER_HOST": "", "PUSHER_PORT": "443", "PUSHER_SCHEME": "https",
        "PUSHER_APP_CLUSTER": "mt1", "VITE_APP_NAME": "Laravel", "VITE_PUSHER_APP_KEY": "key",
      ]
    ),
    (
      "REVERB_APP_ID=7\nREVERB_APP_KEY=k\nREVERB_APP_SECRET=s\nREVERB_HOST=\"localhost\"\n"
        + "REVERB_PORT=8080\nREVERB_SCHEME=http\nVITE_REVERB_HOST=\"${REVERB_HOST}\"\n",
      [
        "REVERB_APP_ID": "7", "REVERB_APP_KEY": "k", "REVERB_APP_SECRET": "s",
        "REVERB_HOST": "localhost", "REVERB_PORT": "8080", "REVERB_SCHEME": "http",
        "VITE_REVERB_HOST": "localhost",
      ]
    ),
    (
      "###> symfony/framework-bundle ###\nAPP_ENV=dev\nAPP_SECRET=d41d8c\n###< symfony ###\n"
        + "MERCURE_URL=https://example.com/.well-known/mercure\n",
      [
        "APP_ENV": "dev", "APP_SECRET": "d41d8c",
        "MERCURE_URL": "https://example.com/.well-known/mercure",
      ]
    ),
  ]

  @Test(arguments: common.indices)
  func `a file says what its writer meant`(index: Int) throws {
    let (file, variables) = Self.common[index]
    #expect(try Self.read(file).variables == variables)
  }

  @Test(.enabled(if: PythonPeer.isWanted, Comment(rawValue: PythonPeer.reason)))
  func `python-dotenv reads the same files in the same way`() throws {
    let folder = TemporaryFolder.shared
    let paths = try Self.common.enumerated().map { index, entry in
      try folder.file("dot-\(index).env", holding: entry.file)
    }
    let result = try PythonPeer.start("read_env.py", paths).result()
    let lines = result.outputText.split(separator: "\n")
    #expect(lines.count == Self.common.count && lines.count >= 40)
    for (line, entry) in zip(lines, Self.common) {
      let variables = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
      #expect(variables == entry.variables, "\(entry.file)")
    }
  }

  @Test func `dollar signs stay where a shell would keep them`() throws {
    #expect(try Self.read("S=x\nA='${S}'").variables["A"] == "${S}")
    #expect(try Self.read("S=x\nA=\"\\${S} ${S}\"").variables["A"] == "${S} x")
  }

  @Test func `blanks and a comment are no value`() throws {
    #expect(try Self.read("A= # later").variables == ["A": ""])
  }

  @Test func `a mark of byte order is not part of a name`() throws {
    #expect(try Self.read("\u{FEFF}A=1").variables == ["A": "1"])
  }

  @Test func `lines inside quotes end with LF`() throws {
    #expect(try Self.read("A=\"one\r\ntwo\"\r\n").variables == ["A": "one\ntwo"])
  }

  @Test func `lines that are not understood are told by their numbers`() throws {
    #expect(try Self.read("A=1\n=2\n\nB C=3\nD=\"4\n5\"\nE='x\nF=6").faultyLines == [2, 4, 7])
    #expect(try Self.read("A=1\r\nB=\"2\r\n3\"\r\n=\r\n").faultyLines == [4])
  }

  @Test func `a reference without an end stands for itself`() throws {
    let file = try Self.read("S=x\nA=${S} ${S ${S\nB=${S}")
    #expect(file.variables == ["S": "x", "A": "x ${S ${S", "B": "x"])
  }

  @Test func `values that double again and again end at the limit, which is named`() throws {
    let bomb =
      "A0=\(String(repeating: "x", count: 64))\n"
      + (1...30).map { "A\($0)=${A\($0 - 1)}${A\($0 - 1)}" }.joined(separator: "\n")
    #expect(throws: DotEnv.TooLarge.self) { try Self.read(bomb) }
    let files = PretendFiles(contents: [".env": bomb])
    #expect(
      refusal { _ = try subscribe("--env-file .env a", files: files) }
        == "--env-file: the values of .env are larger than 1024 KiB after ${NAME} is replaced")
    // Everything within the limit is taken.
    let most = "A=\(String(repeating: "x", count: DotEnv.expandedLimit / 2))\nB=${A}"
    #expect(try Self.read(most).variables["B"]?.utf8.count == DotEnv.expandedLimit / 2)
    #expect(throws: DotEnv.TooLarge.self) { try Self.read(most + "\nC=x") }
  }
}

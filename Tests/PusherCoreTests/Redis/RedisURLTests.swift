import PusherCluster
import PusherCore
import PusherServer
import Testing

struct `Redis: the URL` {
  private static func one(
    _ host: String, _ port: UInt16 = 6379, user: String? = nil, password: String? = nil,
    database: Int = 0
  ) -> RedisSettings {
    RedisSettings(
      endpoints: [Route(host: host, port: port)], user: user,
      password: password.map { RedisPassword($0) }, database: database)
  }

  private static let urls: [(String, RedisSettings)] = [
    ("redis://localhost", one("localhost")), ("REDIS://LocalHost/", one("localhost")),
    ("redis://127.0.0.1:7000/3", one("127.0.0.1", 7000, database: 3)),
    (
      "rediss://r.example",
      RedisSettings(endpoints: [Route(host: "r.example", port: 6379)], isSecure: true)
    ),
    ("redis://[::1]:6380/0", one("::1", 6380)), ("redis://[fe80::1]", one("fe80::1")),
    ("redis://:pass@h", one("h", password: "pass")),
    (
      "redis://ann:p%40ss%2Fw%25%C3%A9@h/12",
      one("h", user: "ann", password: "p@ss/w%é", database: 12)
    ),
    ("redis://a:b:c@h", one("h", user: "a", password: "b:c")),
    ("redis://a:b@c@h", one("h", user: "a", password: "b@c")), ("redis://:@h", one("h")),
    (
      "redis+sentinel://s1,s2:7001,[::1]:7002/mymaster",
      RedisSettings(
        endpoints: [
          Route(host: "s1", port: 26379), Route(host: "s2", port: 7001),
          Route(host: "::1", port: 7002),
        ], primaryName: "mymaster")
    ),
    (
      "rediss+sentinel://u:p@s1/my%2Fmaster/4",
      RedisSettings(
        endpoints: [Route(host: "s1", port: 26379)], isSecure: true, user: "u",
        password: RedisPassword("p"),
        database: 4, primaryName: "my/master")
    ),
  ]

  @Test(arguments: urls.indices)
  func `a URL says which Redis and as whom`(row: Int) throws {
    let (text, settings) = Self.urls[row]
    #expect(try RedisSettings(parsing: text) == settings)
  }

  private static let wrong: [(String, String)] = [
    ("", "it does not begin with redis:// or rediss://"),
    ("localhost:6379", "it does not begin with redis:// or rediss://"),
    ("http://h", "its scheme is not redis, rediss, redis+sentinel or rediss+sentinel"),
    ("redis://", "the host name is missing or has an invalid character"),
    ("redis://h:0", "the port is not a number from 1 to 65535"),
    ("redis://h:65536", "the port is not a number from 1 to 65535"),
    ("redis://[::1", "a bracket is not closed"),
    ("redis://h/x", "the database must be a number, 0 or higher"),
    ("redis://h/-1", "the database must be a number, 0 or higher"),
    ("redis://h/4294967296", "the database must be a number, 0 or higher"),
    ("redis://h/1/2", "its path has too many parts"),
    ("redis://h?db=1", "it has a '?' or a '#': percent-encode them in a password"),
    ("redis://a,b", "several hosts need the scheme redis+sentinel"),
    (
      "redis://hidden@h",
      "there is no ':' before the '@': write user:password@, or :password@ for the default user"
    ),
    ("redis://hidden:@h", "the user has no password"),
    ("redis://a:hidden%4@h", "the password has a '%' without two hex digits, or is not UTF-8"),
    ("redis://a:%FFhidden@h", "the password has a '%' without two hex digits, or is not UTF-8"),
    ("redis://a:hidden@h:x", "the port is not a number from 1 to 65535"),
    ("redis://a:hid/den@h", "the port is not a number from 1 to 65535"),
    (
      "redis://a:hidden b@h",
      "percent-encode blanks, control characters and characters beyond ASCII"
    ),
    ("redis+sentinel://s1", "the name of the primary is missing: write it as the path, /mymaster"),
    (
      "redis+sentinel://s1/a%0D%0Ab",
      "the name of the primary has a blank or a character beyond ASCII"
    ),
    ("redis+sentinel://s1,,s2/m", "the host name is missing or has an invalid character"),
    (
      "redis+sentinel://\((0..<65).map { "s\($0)" }.joined(separator: ","))/m",
      "it has more than 64 hosts"
    ),
  ]

  @Test(arguments: wrong.indices)
  func `what is wrong with a URL is said without its password`(row: Int) {
    let (text, reason) = Self.wrong[row]
    #expect {
      try RedisSettings(parsing: text)
    } throws: { error in
      "\(error)" == reason && !"\(error)".contains("hidden")
    }
  }

  @Test func `no text of settings shows the password or the user`() throws {
    let settings = try RedisSettings(parsing: "rediss://secretuser:secretword@h:1/2")
    var dumped = ""
    dump(settings, to: &dumped)
    dump(settings.password, to: &dumped)
    let texts = [
      "\(settings)", String(reflecting: settings), dumped, "\(settings.password as Any)",
    ]
    for text in texts {
      #expect(!text.contains("secretuser") && !text.contains("secretword"), "\(text)")
    }
    #expect("\(settings)" == "rediss://h:1/2")
  }

  @Test func `the description of a URL leads to the same place`() throws {
    let text = "redis+sentinel://a:26379,[::1]:2/my%2Fmaster/1"
    #expect("\(try RedisSettings(parsing: text))" == text)
    #expect("\(try RedisSettings(parsing: "redis://h"))" == "redis://h:6379/0")
  }
}

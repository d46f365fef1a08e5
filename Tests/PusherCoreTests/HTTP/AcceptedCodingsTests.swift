import PusherCore
import Testing

@Suite("Accepted content codings (RFC 9110 section 12.5.3)")
struct AcceptedCodingsTests {
  @Test(arguments: [
    (nil, false), ("", false), ("identity", false), ("gzip", true), ("GZip", true),
    ("x-gzip", true), ("gzip, deflate, br, zstd", true), ("br;q=1.0, gzip;q=0.5", true),
    ("gzip;q=0", false), ("gzip ; q=0.000", false), ("gzip;q=0.001", true), ("*", true),
    ("*;q=0", false), ("gzip;q=0, *", false), ("*;q=0, gzip", true), ("gzipped", false),
  ])
  func `gzip goes to those who take it`(field: String?, takes: Bool) {
    let headers = HTTPHeaders(field.map { [("Accept-Encoding", $0)] } ?? [])
    #expect(
      HTTPRequestHead(method: "GET", target: "/", headers: headers).takesGzip == takes)
  }
}

import PusherCore

/// An SVG image, read by an XML parser.
struct SVGImage {
  let source: String
  let texts: [String]
  let names: [String]
  let attributes: [String]
  private let lines: JSONValue?

  /// - Throws: ``Unexpected`` for a text that is no XML.
  init(_ source: String) throws {
    let result = try PusherCLI.tool(
      ["python3", PythonPeer.path("read_svg.py")], input: Array(source.utf8))
    guard let value = try? JSONParser.parse(result.outputText) else {
      throw Unexpected("no SVG image: \(result.errorText): \(source)")
    }
    self.source = source
    func texts(_ name: String) -> [String] { value[name]?.elements?.compactMap(\.text) ?? [] }
    (self.texts, names, attributes) = (texts("texts"), texts("names"), texts("attributes"))
    lines = value["lines"]
  }

  /// The number of points of a line; -1 without the line.
  func points(of line: String) -> Int {
    lines?[line]?.text?.count { $0 == "M" || $0 == "L" } ?? -1
  }

  /// The number of connected pieces of a line; -1 without the line.
  func pieces(of line: String) -> Int { lines?[line]?.text?.count { $0 == "M" } ?? -1 }
}

import TestSupport
import Testing

@testable import PusherCore

/// A step of a path, and the slow search for its part.
private enum SlowStep: CustomStringConvertible {
  case member([UInt8])
  case element(Int)

  var description: String {
    switch self {
    case .member(let name): ".\(String(decoding: name, as: UTF8.self))"
    case .element(let place): "[\(place)]"
    }
  }

  func part(of value: ByteView) throws(JSONError) -> ByteView? {
    guard value[0] == UInt8(ascii: "{") || value[0] == UInt8(ascii: "[") else { return nil }
    var cursor = JSONCursor(value)
    var found: ByteView?
    var index = 0
    try JSONSkipper.eachPart(&cursor) { name, part in
      switch self {
      case .member(let own):
        if name.map({ Array(JSONString.decode($0).utf8) }) == own { found = part }
      case .element(let place): if name == nil, index == place { found = part }
      }
      index += 1
    }
    return found
  }
}

private func path(_ steps: [SlowStep]) -> JSONPath {
  var path = JSONPath()
  for step in steps {
    switch step {
    case .member(let name): path.append(name: name)
    case .element(let place): path.append(place: place)
    }
  }
  return path
}

/// A path that begins with these names.
private func path(_ names: String...) -> JSONPath { path(names.map { .member(Array($0.utf8)) }) }

/// Bytes before a protected page, and the value at a path in them.
private struct Trial {
  private let guarded = GuardedBytes(room: 16_384)

  /// Returns `nil` for text that is not JSON, and an empty text without a value.
  func value(at path: JSONPath, ofLine line: String) -> String? {
    value(at: path, ofLine: Array(line.utf8))
  }

  func value(at path: JSONPath, ofLine line: [UInt8]) -> String? {
    withExtendedLifetime(guarded) {
      JSONWalk.value(at: path, ofLine: $0.view(line, beforeEnd: 0))?.text
    }
  }

  /// - Parameter tail: Repeated in the padding.
  func value(at path: JSONPath, ofLine line: [UInt8], before tail: String) -> String? {
    let first = guarded.end - ByteBuffer.padding - line.count
    for (place, byte) in line.enumerated() { first[place] = byte }
    for place in 0..<ByteBuffer.padding {
      first[line.count + place] = Array(tail.utf8)[place % tail.utf8.count]
    }
    return withExtendedLifetime(guarded) {
      JSONWalk.value(at: path, ofLine: ByteView(base: first, count: line.count))?.text
    }
  }

  func value(at path: JSONPath, of json: [UInt8]) -> String {
    withExtendedLifetime(guarded) {
      JSONWalk.value(at: path, of: $0.view(json, beforeEnd: 0)).text
    }
  }
}

/// The lines of the same data: as the program writes them, and as it never does.
private func lines(_ data: String) -> [String] {
  [
    #"{"event":"e","channel":"c","data":"# + data + "}\n",
    #"{"event":"e","id":"\"data\":1","data":"# + data + "}",
    #"{"event":"e","data": "# + data + " }",
    #" {"event" : "e", "x": [{"data":0}], "data" : "# + data + " , \"data_base64\": \"\"}\n",
  ]
}

@Suite("A walk over JSON") struct JSONWalkTests {
  private let trial = Trial()

  @Test func `a text ends at its own quote at every length, with an escape at every place`() {
    let escapes = ["", #"\""#, #"\\"#, #"\u0022"#, #"\\\""#, "é"]
    for length in [0, 1, 29, 30, 31, 32, 33, 61, 62, 63, 64, 65, 66, 127, 128, 129] {
      for escape in escapes {
        for before in Set([0, 1, length / 2, max(0, length - 1), length]) where before <= length {
          let text =
            String(repeating: "x", count: before) + escape
            + String(repeating: "y", count: length - before)
          for line in lines(#"{"b":"\#(text)","a":"\#(text)"}"#) {
            #expect(trial.value(at: path("data", "a"), ofLine: line) == "\"\(text)\"")
            #expect(trial.value(at: path("data", "b"), ofLine: line) == "\"\(text)\"")
            #expect(trial.value(at: path("data", "c"), ofLine: line) == "")
          }
        }
      }
    }
  }

  @Test func `brackets and quotes inside texts count nowhere, whatever block they are in`() {
    for count in 0...140 {
      let fill = String(repeating: "x", count: count)
      let parts = [
        #"["\#(fill)]\"]",["]"],{"]":"}\\"},"\\"]"#, #"{"\#(fill)}\"}":{"}":["}\\"]},"b":"}"}"#,
        #"["\#(fill)\\",[[]],"\\\"]"]"#,
      ]
      for part in parts {
        for line in lines(#"{"x":\#(part),"a":[\#(part),1]}"#) {
          #expect(trial.value(at: path("data", "x"), ofLine: line) == part)
          let steps: [SlowStep] = [.member(Array("data".utf8)), .member([0x61]), .element(1)]
          #expect(trial.value(at: path(steps), ofLine: line) == "1")
        }
      }
    }
  }

  @Test func `the last of repeated members counts, wherever the other ones are`() {
    for count in 0...70 {
      let fill = String(repeating: "x", count: count)
      for name in ["a", #"\u0061"#] {
        let data = #"{"a":1,"\#(fill)":[{"a":2}],"\#(name)":3,"b":{"a":4}}"#
        for line in lines(data) {
          #expect(trial.value(at: path("data", "a"), ofLine: line) == "3")
        }
        let nested = #"{"a":{"b":1},"\#(fill)":0,"\#(name)":{"c":2}}"#
        for line in lines(nested) {
          #expect(trial.value(at: path("data", "a", "b"), ofLine: line) == "")
          #expect(trial.value(at: path("data", "a", "c"), ofLine: line) == "2")
        }
      }
    }
  }

  @Test(arguments: [1, 7, 8, 9, 16, 40])
  func `a name is compared to its last byte`(length: Int) {
    let name = String(repeating: "n", count: length)
    let others = [name.dropLast() + "m", name.dropLast() + "", name + "n", "m" + name.dropFirst()]
    let data = "{" + others.map { #""\#($0)":0,"# }.joined() + #""\#(name)":1}"#
    for line in lines(data) {
      #expect(trial.value(at: path("data", name), ofLine: line) == "1")
      #expect(trial.value(at: path("data", name + "x"), ofLine: line) == "")
    }
  }

  @Test func `a name with a backslash is not the name whose escape is written alike`() {
    for line in lines(#"{"a\n":1,"a\\n":2}"#) {
      #expect(trial.value(at: path("data", #"a\n"#), ofLine: line) == "2")
      #expect(trial.value(at: path("data", "a\n"), ofLine: line) == "1")
      #expect(trial.value(at: path("data", #"a\\n"#), ofLine: line) == "")
    }
  }

  @Test func `numbers and literals end at a comma, a bracket or a blank`() {
    for scalar in [
      "0", "-1.5E+10", "1e+400", "true", "false", "null", "12345678", "123456789012345678",
    ] {
      for end in ["", " ", "\n", "\t", "\r"] {
        for line in lines(#"{"b":\#(scalar)\#(end),"c":[\#(scalar)\#(end)],"a":\#(scalar)\#(end)}"#)
        {
          #expect(trial.value(at: path("data", "a"), ofLine: line) == scalar)
          #expect(trial.value(at: path("data", "b"), ofLine: line) == scalar)
        }
      }
    }
  }

  @Test(arguments: [#"\u"#, #"\utrb"#, #"\u12"#, #"\x"#, #"\u00g0"#, "\u{1}", #"\"#])
  func `a line with an invalid text has no value`(text: String) {
    for data in [#"{"a":1,"\#(text)":2}"#, #"{"\#(text)":1,"a":2}"#, #"{"a":"\#(text)","b":1}"#] {
      for line in lines(data) {
        for name in ["a", "b", "\u{1}", "trb"] {
          #expect(trial.value(at: path("data", name), ofLine: line) == nil)
        }
      }
    }
  }

  private static let tails = [
    #"","":"#, #"":"","#, #"{"a":{"a":"#, #","a":1"#, #""a":1,"#, "}", "]", " }", #"\"#, #"""#, "1",
    "[",
  ]

  @Test(arguments: tails)
  func `a cut line has no value, whatever stands behind it`(tail: String) {
    let data = [
      #"{"a":1,"b":"2"}"#, #"{"b":{"c":["}"]},"a":-1.5e3}"#, #"[{"a":"]"},[[1],[2]]]"#, "12",
      #"{"a":{"a":{"a":"\\"}},"":{"b":"c"}}"#, #""text""#,
    ]
    let first = SlowStep.member(Array("data".utf8))
    let paths = [
      path("data"), path("data", "a"), path("data", "b", "c"), path("data", "a", "a", "a"),
      path("data", ""), path([first, .element(1)]), path([first, .element(0), .member([0x61])]),
    ]
    for line in data.flatMap({ lines($0).prefix(3) }).map({ Array($0.utf8) }) {
      let end = line.lastIndex(of: UInt8(ascii: "}")) ?? 0
      for path in paths {
        #expect(trial.value(at: path, ofLine: line) != nil)
        for count in 0...end {
          #expect(trial.value(at: path, ofLine: Array(line[..<count]), before: tail) == nil)
          withView(line) { #expect(JSONWalk.value(at: path, ofLine: $0[0..<count]) == nil) }
        }
      }
    }
  }

  @Test(arguments: 0..<8 as Range<UInt64>)
  func `random paths lead to the same bytes as the slow search`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let encoding = JSONEncoding.all[random.below(JSONEncoding.all.count)]
      let tree = RandomJSON.value(depth: 5, &random)
      let data = encoding.text(tree)
      for _ in 0..<4 {
        let steps = steps(into: tree, &random)
        let expected = try slowValue(steps, in: Array(data.utf8))
        #expect(
          trial.value(at: path(steps), of: Array(data.utf8)) == expected, "\(steps) in \(data)")
        let whole = path([.member(Array("data".utf8))] + steps)
        for line in lines(data) {
          #expect(trial.value(at: whole, ofLine: line) == expected, "\(steps) in \(line)")
        }
      }
    }
  }

  /// A path that often leads to a value.
  private func steps(into tree: JSONValue, _ random: inout SeededGenerator) -> [SlowStep] {
    var steps: [SlowStep] = []
    var value = tree
    while steps.isEmpty || random.below(4) > 0 {
      switch value {
      case .object(let members) where !members.isEmpty:
        let member = members[random.below(members.count)]
        steps.append(.member(Array(member.name.utf8)))
        value = member.value
      case .array(let elements) where !elements.isEmpty:
        let place = random.below(elements.count)
        steps.append(.element(place))
        value = elements[place]
      default: return steps + [random.below(2) == 0 ? .element(random.below(3)) : .member([0x78])]
      }
    }
    return steps
  }

  private func slowValue(_ steps: [SlowStep], in json: [UInt8]) throws -> String {
    try withView(json) { view in
      var value = view
      for step in steps {
        guard let part = try step.part(of: value) else { return "" }
        value = part
      }
      return value.text
    }
  }
}

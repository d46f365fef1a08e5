internal import PusherCore

/// One metric: name, help text and current samples.
///
/// Names and units follow Prometheus' conventions: names end with the base unit; counters add
/// `_total`. Source: Prometheus' pages "Metric and label naming" and "Exposition formats".
struct MetricFamily: Equatable, Sendable {
  enum Kind: String, Sendable { case counter, gauge }

  struct Label: Equatable, Sendable {
    let name: StaticText
    let value: String

    init(_ name: StaticText, _ value: String) { (self.name, self.value) = (name, value) }
  }

  struct Sample: Equatable, Sendable {
    let labels: [Label]
    let value: String

    init(_ value: Int, _ labels: Label...) { self.init(value, labels) }
    init(_ value: Int, _ labels: [Label]) { (self.value, self.labels) = (String(value), labels) }
    init(_ value: Duration) { (self.value, self.labels) = (value.secondsText, []) }
  }

  let name: StaticText
  let kind: Kind
  /// One sentence, without newlines or backslashes.
  let help: StaticText
  let samples: [Sample]

  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ samples: [Sample]) {
    (self.name, self.kind, self.help, self.samples) = (name, kind, help, samples)
  }

  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ value: Int) {
    self.init(name, kind, help, [Sample(value)])
  }

  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ value: Duration) {
    self.init(name, kind, help, [Sample(value)])
  }
}

/// A text from the source code, never from a peer.
struct StaticText: Equatable, Sendable, ExpressibleByStringLiteral {
  let text: String

  init(stringLiteral value: StaticString) { text = "\(value)" }
}

extension MetricFamily {
  /// Returns the text format of all families.
  ///
  /// A family without samples has only its two comments. The format requires families of the same
  /// name to stand together, at the place of the first.
  static func text(of families: [MetricFamily]) -> String {
    var text = ""
    var written: Set<String> = []
    for family in families where written.insert(family.name.text).inserted {
      text += "# HELP \(family.name.text) \(family.help.text)\n"
      text += "# TYPE \(family.name.text) \(family.kind.rawValue)\n"
      for twin in families where twin.name == family.name { twin.writeSamples(to: &text) }
    }
    return text
  }

  private func writeSamples(to text: inout String) {
    for sample in samples {
      text += name.text
      if !sample.labels.isEmpty {
        let pairs = sample.labels.map { "\($0.name.text)=\"\(Self.escaped($0.value))\"" }
        text += "{\(pairs.joined(separator: ","))}"
      }
      text += " \(sample.value)\n"
    }
  }

  private static func escaped(_ value: String) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
      case "\"": escaped.append(contentsOf: "\\\"".unicodeScalars)
      case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }
}

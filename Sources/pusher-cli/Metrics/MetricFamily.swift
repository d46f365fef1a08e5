internal import PusherCore

/// One metric: its name, what it means, and its samples as they are now.
///
/// Names and units follow Prometheus' conventions: a base unit at the end of the name, and `_total` after that of a
/// counter. Source: Prometheus' pages "Metric and label naming" and "Exposition formats".
struct MetricFamily: Equatable, Sendable {
  /// What a value may do.
  enum Kind: String, Sendable {
    /// It only grows, from zero at the start of the program.
    case counter
    /// It goes up and down.
    case gauge
  }

  /// The name and the value of a label; the value may be any text.
  struct Label: Equatable, Sendable {
    let name: StaticText
    let value: String

    init(_ name: StaticText, _ value: String) {
      (self.name, self.value) = (name, value)
    }
  }

  /// One number.
  struct Sample: Equatable, Sendable {
    let labels: [Label]
    /// A number as the text format has it.
    let value: String

    init(_ value: Int, _ labels: Label...) {
      self.init(value, labels)
    }

    init(_ value: Int, _ labels: [Label]) {
      (self.value, self.labels) = (String(value), labels)
    }

    /// A time in seconds.
    init(_ value: Duration, _ labels: Label...) {
      (self.value, self.labels) = (value.secondsText, labels)
    }
  }

  let name: StaticText
  let kind: Kind
  /// A sentence without a line end or a backslash.
  let help: StaticText
  let samples: [Sample]

  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ samples: [Sample]) {
    (self.name, self.kind, self.help, self.samples) = (name, kind, help, samples)
  }

  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ value: Int) {
    self.init(name, kind, help, [Sample(value)])
  }

  /// A metric of times in seconds.
  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ value: Duration) {
    self.init(name, kind, help, [Sample(value)])
  }
}

/// A text that stands in the sources, so that no peer has chosen it.
struct StaticText: Equatable, Sendable, ExpressibleByStringLiteral {
  let text: String

  init(stringLiteral value: StaticString) {
    text = "\(value)"
  }
}

extension MetricFamily {
  /// The text format of all families, in their order; one without samples has its two comments.
  ///
  /// Samples of families with one name stand together where the first of them stands, as the format wants it.
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

  /// A label's value: backslash, quote and line end are escaped.
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

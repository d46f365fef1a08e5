internal import PusherCore

/// The files of `--histogram`, `--csv` and `--svg`.
enum BenchFiles {
  /// Makes each file before the load, so that a wrong name costs no run.
  static func check(_ settings: BenchSettings) throws(UsageError) {
    for (flag, path) in settings.files.map({ ($0.flag.spelling, $0.path) }) {
      switch FileReplacement.writablePlace(path) {
      case .failure(let fault): throw UsageError("\(flag): cannot write '\(path)': \(fault.reason)")
      case .success(.nothing):
        if let reason = WrittenFile.write([], to: path) {
          throw UsageError("\(flag): cannot write '\(path)': \(reason)")
        }
      case .success: break
      }
    }
  }

  /// Writes the files; returns the status of a failure, which is reported.
  static func write(
    _ report: BenchReport, _ settings: BenchSettings, _ diagnostics: Diagnostics
  ) -> ExitStatus? {
    var status: ExitStatus?
    let files = [
      (settings.histogramFile, report.delays?.table),
      (settings.csvFile, BenchSeconds.csv(report.rows)),
      (settings.svgFile, settings.svgFile.map { _ in DelayImage(report).text }),
    ]
    for case (let path?, let text?) in files {
      if let reason = WrittenFile.write(Array(text.utf8), to: path) {
        status = diagnostics.cannotPrint(reason, to: path)
      }
    }
    return status
  }
}

extension DelayHistogram {
  /// The table of HdrHistogram's `outputPercentileDistribution`, in milliseconds.
  var table: String {
    var text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
    for (value, seen) in steps {
      let share = Double(seen) / Double(max(count, 1))
      let inverse = seen == count ? "" : " " + BenchNumber.text(1 / (1 - share), places: 2)
      let cells = [
        BenchNumber.text(value.inSeconds * 1000), BenchNumber.text(share, places: 12), "\(seen)",
      ]
      text += cells.joined(separator: " ") + inverse + "\n"
    }
    let mean = BenchNumber.text((mean ?? .zero).inSeconds * 1000)
    let largest = BenchNumber.text(largest.inSeconds * 1000)
    text += "#[Mean    = \(mean), Max = \(largest)]\n#[Total count = \(count)]\n"
    return text
  }
}

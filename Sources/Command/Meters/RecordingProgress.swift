/// A recording's entry in the progress display.
struct RecordingProgress {
  var name: String
  /// Recorded seconds; negative before the start.
  var position: Double
  /// Size of the file in bytes.
  var size: Int64
  /// How often frames were lost.
  var overruns: UInt64
  var levels: Levels
  /// Forms of the text of a second line, the longest first; empty for no such line.
  var details: [String] = []

  private static let largestMeter = 60

  /// Returns the display's lines, with as many details as fit into `columns`.
  func lines(columns: Int, rows: Int, isColored: Bool) -> [String] {
    // The last column stays empty, because some terminals wrap there.
    let width = columns - 1
    let time = position < 0 ? clock(position) : " \(clock(position))"
    let facts = "\(time) \(byteCount(size)) overruns: \(overruns)"
    let details = details.first { Command.columns(of: $0) + 2 <= width }
    let more = rows > 2 ? details.map { ["  \($0)"] } ?? [] : []
    let meter = (Levels.leastWidth...Self.largestMeter).last {
      Command.columns(of: "\(name) \(facts) \(levels.meters(width: $0))") <= width
    }
    if let meter {
      return ["\(name) \(facts) \(levels.meters(width: meter, isColored: isColored))"] + more
    }
    let candidates = [
      "\(name) \(facts) \(levels.numbers)", "\(name) \(facts) \(levels.loudest)",
      "\(facts) \(levels.loudest)", "\(time) \(byteCount(size)) \(levels.loudest)",
      "\(time) \(levels.loudest)", time,
    ]
    let line =
      candidates.first { Command.columns(of: $0) <= width } ?? fitted(time, to: max(0, width))
    return [line] + more
  }
}

/// A recording's entry in the progress display.
struct RecordingProgress {
  var name: String
  /// Recorded seconds; negative before the start.
  var position: Double
  /// Size of the file in bytes.
  var size: Int64
  /// How often frames were lost.
  var overruns: UInt64
  /// Recent peak sample of each channel; 1 is full scale.
  var peaks: [Float]

  /// Returns the display's line, with as many details as fit into `columns`.
  func line(columns: Int) -> String {
    // The last column stays empty, because some terminals wrap there.
    let width = columns - 1
    let levels = Levels(peaks: peaks)
    let time = position < 0 ? clock(position) : " \(clock(position))"
    let facts = "\(time) \(byteCount(size)) overruns: \(overruns)"
    let candidates = [
      "\(name) \(facts) \(levels.meters)", "\(name) \(facts) \(levels.numbers)",
      "\(name) \(facts) \(levels.loudest)", "\(facts) \(levels.loudest)",
      "\(time) \(byteCount(size)) \(levels.loudest)", "\(time) \(levels.loudest)", time,
    ]
    return candidates.first { Command.columns(of: $0) <= width } ?? fitted(time, to: max(0, width))
  }
}

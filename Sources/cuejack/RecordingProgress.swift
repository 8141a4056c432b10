/// What the progress display says of a recording.
struct RecordingProgress {
  var name: String
  /// Seconds that were recorded; negative while it waits for its start.
  var position: Double
  /// Bytes in the file.
  var size: Int64
  /// How often frames were lost.
  var overruns: UInt64
  /// Each channel's highest sample of late; 1 is full scale.
  var peaks: [Float]

  /// The display's line, with as much of it as fits into `columns`.
  func line(columns: Int) -> String {
    // The last column stays free: some terminals wrap on it.
    let width = columns - 1
    let levels = Levels(peaks: peaks)
    let time = position < 0 ? clock(position) : " \(clock(position))"
    let facts = "\(time) \(byteCount(size)) overruns: \(overruns)"
    let candidates = [
      "\(name) \(facts) \(levels.meters)", "\(name) \(facts) \(levels.numbers)",
      "\(name) \(facts) \(levels.loudest)", "\(facts) \(levels.loudest)",
      "\(time) \(byteCount(size)) \(levels.loudest)", "\(time) \(levels.loudest)", time,
    ]
    return candidates.first { cuejack.columns(of: $0) <= width } ?? fitted(time, to: max(0, width))
  }
}

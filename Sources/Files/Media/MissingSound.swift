import Timeline

/// Sound that a file lacks, or that cannot be decoded. Silence takes its place.
package struct MissingSound: Sendable {
  /// Frames by position, at the file's rate.
  private var parts: [Int64: Int] = [:]
  /// Limit on the parts that are told apart.
  private static let most = 1 << 16
  /// True if more is missing than the parts: sound whose length nobody knows.
  package var isLeast = false

  package init() {}

  package var isEmpty: Bool { parts.isEmpty }
  /// Number of places. Parts that follow each other are one.
  private var places: Int {
    let ends = Set(parts.map { $0.key + Int64($0.value) })
    return parts.keys.count { !ends.contains($0) }
  }
  package var frames: Int64 { parts.values.reduce(0) { $0 + Int64($1) } }
  /// Position of the first part.
  package var first: Int64? { parts.keys.min() }

  /// Adds a part. What is read again counts once.
  package mutating func add(_ frames: Int, at position: Int64) {
    if parts[position] != nil || parts.count < Self.most { parts[position] = frames }
  }

  /// Describes the parts in one line; nil if there are none.
  package func words(sampleRate: Double) -> String? {
    guard let first else { return nil }
    let places = places
    let words = places == 1 ? "at" : "in \(places) places, the first at"
    let time = exactClock(Double(first) / sampleRate)
    let milliseconds = Int64(held: (Double(frames) / sampleRate * 1000).rounded(.up))
    let least = isLeast ? "at least " : ""
    return "\(least)\(exactSeconds(milliseconds)) s missing \(words) \(time)"
  }
}

/// Formats hours, minutes and seconds with milliseconds.
package func exactClock(_ seconds: Double) -> String {
  func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let milliseconds = Int64(held: (seconds * 1000).rounded())
  let minutes = milliseconds / 60_000
  let rest = milliseconds % 60_000
  let tail = "\(two(minutes % 60)):\(rest < 10_000 ? "0" : "")\(exactSeconds(rest))"
  return minutes < 60 ? tail : "\(minutes / 60):\(tail)"
}

/// Formats milliseconds as seconds with three decimals.
private func exactSeconds(_ milliseconds: Int64) -> String {
  "\(milliseconds / 1000).\(String(1000 + milliseconds % 1000).dropFirst())"
}

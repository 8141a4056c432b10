import ArgumentParser

/// The value of `--silence`: how quiet the ends are that are trimmed, and how much of them stays.
struct SilenceTrim: Equatable, Sendable {
  /// The greatest magnitude of silence.
  let level: Float
  /// Time that stays before the first sound and behind the last.
  let kept: TimeValue

  init(parsing text: String) throws {
    let words = text.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
    guard let level = words.first.flatMap({ LevelValue(argument: String($0)) }) else {
      throw ValidationError(
        "--silence \(text): it takes a level below 0 dB, and a time that stays, such as -50dB,0.1")
    }
    self.level = level.factor
    kept = words.count > 1 ? try TimeValue(parsing: String(words[1])) : .zero
  }
}

/// The frames between the first and the last sample above a level.
struct SoundExtent {
  private let level: Float
  private let channels: Int
  private var position: Int64 = 0
  private(set) var first: Int64?
  private(set) var last: Int64 = 0

  init(above level: Float, channels: Int) { (self.level, self.channels) = (level, channels) }

  /// Continues with interleaved samples.
  mutating func add(_ samples: [Float]) {
    if let index = samples.lastIndex(where: { abs($0) > level }) {
      last = position + Int64(index / channels)
      if first == nil, let index = samples.firstIndex(where: { abs($0) > level }) {
        first = position + Int64(index / channels)
      }
    }
    position += Int64(samples.count / channels)
  }

  /// Returns the extent with frames on either side, within the frames so far; nil if all of them are silent.
  func range(keeping frames: Int64) -> Range<Int64>? {
    first.map { max(0, $0 - frames)..<min(position, last + 1 + frames) }
  }
}

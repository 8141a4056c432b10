import Files
import System

/// The ReplayGain of a file as `cuejack info` shows it. The property names are the JSON keys, so they must not
/// change.
struct ReplayGainReport: Encodable {
  /// The gain in decibels to -18 LUFS, and the greatest sample, 1 for full scale; absent without tags.
  struct Level: Encodable {
    let gain: Double
    let peak: Double?

    init(_ level: ReplayGain.Level) { (gain, peak) = (level.gain, level.peak) }

    fileprivate var words: String {
      "\(plain(hundredths(gain))) dB" + (peak.map { ", peak \($0)" } ?? "")
    }
  }
  let track: Level?
  let album: Level?
  /// Tags that cannot be read; absent if there are none.
  let faults: [String]?

  /// Creates the report; nil if the file has no such tags.
  init?(_ tags: ReplayGain) {
    if tags.track == nil, tags.album == nil, tags.faults.isEmpty { return nil }
    track = tags.track.map(Level.init)
    album = tags.album.map(Level.init)
    faults = tags.faults.isEmpty ? nil : tags.faults
  }

  var rows: [(String, String)] {
    [("track", track), ("album", album)].compactMap { name, level in
      level.map { ("gain", "\(name) \($0.words)") }
    } + (faults ?? []).map { ("bad tag", $0) }
  }
}

import RealTime
import Sessions
import System
import Timeline

extension FilePlayer {
  /// The row of files that it plays; nil for a single file.
  var row: SoundRow? { (file as? SoundRow).flatMap { $0.sounds.count > 1 ? $0 : nil } }

  /// The name of the file that plays at a position in seconds.
  func name(at seconds: Double) -> String {
    guard let row, row.frames > 0 else { return fileName(file.path) }
    let frame = Int64(held: max(0, seconds) * file.format.sampleRate * clip.rate) % row.frames
    let index = row.starts.lastIndex { $0 <= frame } ?? 0
    return fileName(row.sounds[index].path)
  }
}

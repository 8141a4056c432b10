import Sessions
import System

/// Words for the display of `cuejack play`.
extension PlayKeys {
  /// Returns a line about what the keys have changed; nil if they have changed nothing.
  var state: String? {
    var words: [String] = []
    if isPaused { words.append("paused") }
    if gain != 0 { words.append("gain \(gain > 0 ? "+" : "")\(plain(gain)) dB") }
    if isMuted { words.append("muted") }
    if isLooping { words.append("loop") }
    if !muted.isEmpty || !solo.isEmpty || selected > 0 {
      words.append("file \(selected + 1): \(printable(fileName(players[selected].file.path)))")
    }
    if muted.contains(selected), !isMuted { words.append("muted") }
    if solo.contains(selected) { words.append("solo") }
    return words.isEmpty ? nil : words.joined(separator: "  ")
  }

  /// Position of a player for the display, in seconds from its first frame.
  func position(of player: FilePlayer) -> Double {
    if let pausedAt { return pausedAt - player.delay }
    return player.position(startingAt: start.queueFrame)
  }

  /// Mark of a file that is not heard.
  func mark(ofFile index: Int) -> String { isHeard(index) ? "" : "(mute) " }
}

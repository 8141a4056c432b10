/// --replaygain of the tracks of `cuejack play`, which may change while they play. Main thread.
final class PlayLevels {
  private let tracks: [PlayTrack]
  /// The factors in the volumes of the players.
  private let initial: [Float]
  private(set) var choice: ReplayGainOptions.Choice

  init(_ tracks: [PlayTrack], _ choice: ReplayGainOptions.Choice) {
    self.tracks = tracks
    self.choice = choice
    initial = tracks.map { $0.level?.factor ?? 1 }
  }

  /// The factor in a player's volume.
  func initialFactor(ofPlayer index: Int) -> Float { initial[index] }

  /// The factor that a player needs besides its volume.
  func factor(ofPlayer index: Int) -> Float {
    tracks[index].level.map { $0.factor / initial[index] } ?? 1
  }

  /// Takes the gain of other tags.
  ///
  /// - Returns: Whether sounds that follow each other have other gains now, from the next read on.
  func choose(_ choice: ReplayGainOptions.Choice) throws -> Bool {
    if tracks.contains(where: { $0.level == nil && $0.levels.isEmpty }) {
      throw Refusal(
        "files that follow each other take other gains if they start with --replaygain track or album"
      )
    }
    self.choice = choice
    let before = tracks.flatMap { $0.levels.map(\.factor) }
    for track in tracks {
      track.level?.choose(choice.level)
      for level in track.levels { level.choose(choice.level) }
    }
    return tracks.flatMap { $0.levels.map(\.factor) } != before
  }
}

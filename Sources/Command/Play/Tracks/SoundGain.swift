import Files
import Sessions
import Synchronization

/// The factor by which --replaygain changes a sound. Any thread.
final class SoundGain: Sendable {
  private let sound: any SoundSource
  private let path: String
  /// The factor without tags.
  private let fallback: Float
  /// The tags once they were read; their gains are nil if they cannot be.
  private let tags = Mutex<ReplayGain?>(nil)
  private let bits = Atomic<UInt32>(Float(1).bitPattern)

  init(of sound: any SoundSource, _ path: String, fallback: Float) {
    self.sound = sound
    self.path = path
    self.fallback = fallback
  }

  var factor: Float { Float(bitPattern: bits.load(ordering: .relaxed)) }

  /// Takes the gain of some tags, which are read and whose faults are reported when they are first needed; 0 dB if
  /// `scope` is nil.
  func choose(_ scope: ReplayGain.Scope?) {
    let level = scope.flatMap { scope in
      tags.withLock {
        $0 = $0 ?? read(); return $0?.level(scope)
      }
    }
    let factor = level.map { Float($0.factor) } ?? (scope == nil ? 1 : fallback)
    bits.store(factor.bitPattern, ordering: .relaxed)
  }

  private func read() -> ReplayGain {
    do throws(SoundFileError) {
      let tags = try (sound as? SoundReader)?.file.replayGain()
      for fault in tags?.faults ?? [] { Screen.shared.complain("\(path): \(fault)") }
      return tags ?? ReplayGain([:])
    } catch {
      Screen.shared.complain("\(error)")
      return ReplayGain([:])
    }
  }
}

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

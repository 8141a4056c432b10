import Files
import RealTime
import Sessions
import Timeline

/// A sound of `cuejack play` with its settings: a file, or files in a row. Each has a JACK client of its
/// own unless there are plugins.
struct PlayTrack: Sendable {
  let source: any SoundSource
  let settings: PlaySettings
  /// True if `source` has the parts between the settings' start and end only.
  var isCut = false
  /// ReplayGain of a file; the settings' gain has its first factor.
  var level: SoundGain?
  /// ReplayGain of each file in a row that reads with it.
  var levels: [SoundGain] = []

  /// The part to play, in frames of the source.
  var part: Range<Int64> { isCut ? 0..<source.frames : settings.part(of: source) }

  /// Returns what to play.
  ///
  /// - Parameters:
  ///   - limit: Time of sound to play at most.
  ///   - stagger: Time after the common start at which the track begins, besides its own delay.
  func clip(limit: TimeValue?, stagger: (time: TimeValue, count: Int)) -> Clip {
    let sampleRate = source.format.sampleRate
    var clip = Clip(
      part: part, volume: settings.gain.factor, pan: settings.pan, rate: settings.rate,
      cents: settings.pitch)
    if !settings.loop { clip.frames = Int64(clip.part.count) }
    if let limit {
      let frames = Int64(
        held: (limit.seconds(at: sampleRate) * settings.rate * sampleRate).rounded())
      clip.frames = min(clip.frames ?? .max, frames)
    }
    let seconds =
      Double(stagger.count) * stagger.time.seconds(at: sampleRate)
      + settings.delay.seconds(at: sampleRate)
    clip.delay = Int64(held: (seconds * sampleRate).rounded())
    clip.fadeIn = settings.fadeIn.seconds(at: sampleRate)
    clip.fadeOut = settings.fadeOut.seconds(at: sampleRate)
    return clip
  }
}

import RealTime
import Sessions

/// How a track of `cuejack play` sounds: the options for all files, with those of the track in their
/// place.
struct PlaySettings: Sendable {
  var gain = GainValue.unity
  var pan: Float = 0
  var rate = 1.0
  var pitch = 0.0
  var fadeIn = TimeValue.zero
  var fadeOut = TimeValue.zero
  var start = TimeValue.zero
  var end: TimeValue?
  var delay = TimeValue.zero
  var loop = false

  /// Returns the settings with the given options in place of theirs.
  func with(_ options: ItemOptions) -> PlaySettings {
    var settings = self
    if let gain = options.gain { settings.gain = gain }
    if let pan = options.pan { settings.pan = pan }
    if let rate = options.rate { settings.rate = rate }
    if let pitch = options.pitch { settings.pitch = pitch }
    if let fadeIn = options.fadeIn { settings.fadeIn = fadeIn }
    if let fadeOut = options.fadeOut { settings.fadeOut = fadeOut }
    if let start = options.start { settings.start = start }
    if let end = options.end { settings.end = end }
    if let delay = options.delay { settings.delay = delay }
    if let loop = options.loop { settings.loop = loop }
    return settings
  }

  /// Returns the part of a sound between start and end, in its frames.
  func part(of sound: any SoundSource) -> Range<Int64> {
    let rate = sound.format.sampleRate
    let first = min(sound.frames, start.frames(at: rate))
    return first..<max(first, min(sound.frames, end?.frames(at: rate) ?? sound.frames))
  }
}

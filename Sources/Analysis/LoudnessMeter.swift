import CEBUR128
package import Files
import Glibc
import RealTime

/// A meter of loudness and peaks, by libebur128. Not real time: it allocates. One thread at a time.
@safe
package final class LoudnessMeter: @unchecked Sendable {
  private var state: UnsafeMutablePointer<ebur128_state>?
  package let channels: Int
  private let roles: [ChannelRole]?
  private var clippedSamples: UInt64 = 0
  /// Frames so far, and those at which the slow figures were computed last.
  private var frames = 0
  private var sampleRate: Double
  private var known: (figures: SoundFigures, frames: Int)?
  private var knownShortTerm: (value: Double?, frames: Int) = (nil, 0)

  /// Creates a meter; nil if libebur128 does not support the rate or the number of channels.
  ///
  /// - Parameter roles: Roles of the channels. Without them, six channels are left, right, centre, low
  ///   frequencies, left and right surround; other channels all count alike.
  package init?(channels: Int, sampleRate: Double, roles: [ChannelRole]? = nil) {
    guard (1...64).contains(channels), (16...2_800_000).contains(sampleRate),
      let state = unsafe ebur128_init(
        CUnsignedInt(channels), CUnsignedLong(sampleRate.rounded()), cue_ebur128_all)
    else { return nil }
    self.sampleRate = sampleRate
    unsafe self.state = unsafe state
    self.channels = channels
    self.roles = roles
    setRoles()
  }

  deinit { unsafe ebur128_destroy(&state) }

  private func setRoles() {
    let roles = roles.flatMap { $0.count == channels ? $0 : nil } ?? Self.usualRoles(channels)
    let hasSides = roles.contains(.leftSide) || roles.contains(.rightSide)
    for (channel, role) in roles.enumerated() {
      let value = Self.channel(role, hasSides: hasSides).rawValue
      unsafe _ = ebur128_set_channel(state, CUnsignedInt(channel), CInt(value))
    }
  }

  private static func usualRoles(_ channels: Int) -> [ChannelRole] {
    channels == 6
      ? [.left, .right, .centre, .lowFrequency, .leftSurround, .rightSurround]
      : Array(repeating: .mono, count: channels)
  }

  /// Returns libebur128's name of a role. Between 60 and 120 degrees from the front, a channel counts 1.5 dB
  /// more. Surround channels are there, unless others are at the sides.
  private static func channel(_ role: ChannelRole, hasSides: Bool) -> channel {
    switch role {
    case .lowFrequency: EBUR128_UNUSED
    case .leftSurround: hasSides ? EBUR128_Mp135 : EBUR128_LEFT_SURROUND
    case .rightSurround: hasSides ? EBUR128_Mm135 : EBUR128_RIGHT_SURROUND
    case .leftSide: EBUR128_Mp090
    case .rightSide: EBUR128_Mm090
    case .right: EBUR128_RIGHT
    case .centre: EBUR128_CENTER
    case .ambisonicX, .ambisonicY, .ambisonicZ: EBUR128_UNUSED
    default: EBUR128_LEFT
    }
  }

  /// Continues at another sample rate.
  package func setSampleRate(_ rate: Double) {
    guard let state = unsafe state, (16...2_800_000).contains(rate) else { return }
    if unsafe state.pointee.samplerate == CUnsignedLong(rate.rounded()) { return }
    sampleRate = rate
    unsafe _ = ebur128_change_parameters(
      state, CUnsignedInt(channels), CUnsignedLong(rate.rounded()))
  }

  /// Measures interleaved frames. Samples that are not finite become 0, there too.
  package func add(_ samples: UnsafeMutableBufferPointer<Float>) {
    guard let start = samples.baseAddress else { return }
    for index in samples.indices {
      let size = unsafe abs(samples[index])
      // Not a number, too.
      if !(size < Level.clipping) {
        if size.isFinite { clippedSamples += 1 } else { unsafe samples[index] = 0 }
      }
    }
    frames += samples.count / channels
    unsafe _ = ebur128_add_frames_float(state, start, samples.count / channels)
  }

  /// The figures for a display, which takes them often: loudness of everything and its range are up to a
  /// second old, or a thousandth of the time so far; that of three seconds is up to half a second old.
  package var latest: SoundFigures {
    let age = known.map { frames - $0.frames } ?? .max
    if age >= max(Int(sampleRate), frames / 1000) { known = (figures, frames) }
    if frames - knownShortTerm.frames >= Int(sampleRate / 2) {
      knownShortTerm = (loudness { unsafe ebur128_loudness_shortterm(state, &$0) }, frames)
    }
    return SoundFigures(
      momentary: loudness { unsafe ebur128_loudness_momentary(state, &$0) },
      shortTerm: knownShortTerm.value, integrated: known?.figures.integrated,
      range: known?.figures.range,
      truePeak: greatest { unsafe ebur128_true_peak(state, $0, &$1) },
      samplePeak: greatest { unsafe ebur128_sample_peak(state, $0, &$1) },
      clippedSamples: clippedSamples)
  }

  /// The figures so far. The longer the sound, the longer it takes.
  package var figures: SoundFigures {
    let integrated = loudness { unsafe ebur128_loudness_global(state, &$0) }
    return SoundFigures(
      momentary: loudness { unsafe ebur128_loudness_momentary(state, &$0) },
      shortTerm: loudness { unsafe ebur128_loudness_shortterm(state, &$0) },
      integrated: integrated,
      // The library says 0 of nothing.
      range: integrated == nil ? nil : loudness { unsafe ebur128_loudness_range(state, &$0) },
      truePeak: greatest { unsafe ebur128_true_peak(state, $0, &$1) },
      samplePeak: greatest { unsafe ebur128_sample_peak(state, $0, &$1) },
      clippedSamples: clippedSamples)
  }

  private func loudness(_ ask: (inout Double) -> CInt) -> Double? {
    var value = 0.0
    return ask(&value) == CInt(EBUR128_SUCCESS.rawValue) && value.isFinite ? value : nil
  }

  private func greatest(_ ask: (CUnsignedInt, inout Double) -> CInt) -> Double {
    (0..<channels).reduce(0) { most, channel in
      var value = 0.0
      _ = ask(CUnsignedInt(channel), &value)
      return max(most, value)
    }
  }
}

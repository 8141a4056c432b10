/// Measured figures of sound. Loudness is that of ITU-R BS.1770-4 and EBU R 128.
package struct SoundFigures: Sendable, Equatable {
  /// Loudness of the latest 0.4 and 3 seconds in LUFS; nil if that is silence.
  package var momentary: Double?
  package var shortTerm: Double?
  /// Loudness of everything in LUFS; nil if it is shorter than 0.4 seconds or quieter than -70 LUFS.
  package var integrated: Double?
  /// Loudness range in LU; nil if the sound is too short or too quiet.
  package var range: Double?
  /// Greatest magnitude of the wave between the samples, and of the samples; 1 is full scale.
  package var truePeak: Double
  package var samplePeak: Double
  /// Samples at full scale; see `Level.clipping`.
  package var clippedSamples: UInt64
}

import RealTime

/// Format and length of a track's sound: what a plan needs to know of files.
package struct SoundFacts: Sendable, Equatable {
  package let sampleRate: Double
  package let channels: Int
  package let frames: Int64

  package init(sampleRate: Double, channels: Int, frames: Int64) {
    self.sampleRate = sampleRate
    self.channels = channels
    self.frames = frames
  }

  package init(_ source: any SoundSource) {
    self.init(
      sampleRate: source.format.sampleRate, channels: source.format.channels,
      frames: source.frames)
  }
}

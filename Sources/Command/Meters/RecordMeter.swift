import Analysis
import RealTime
import Sessions
import Synchronization

/// The peak, the clips and the loudness of what a recorder writes to its file. Any thread that is not
/// real time; the recorder's callback thread measures.
final class RecordMeter: RecordingObserver {
  /// The most channels whose loudness is measured on a terminal without being asked.
  static let usualChannels = PlayMeters.usualChannels

  private struct State {
    var loudness: LoudnessMeter?
    var clips: [UInt64]
    var peak: Float = 0
    var memory: [Float] = []
  }
  private let state: Mutex<State>
  private let channels: Int
  /// Layout of a single channel: interleaved samples are read as one.
  private let layout: SampleLayout?

  /// - Parameter measuresLoudness: False for peaks and clips only.
  init(_ format: PCMFormat, measuresLoudness: Bool) {
    let loudness =
      measuresLoudness
      ? LoudnessMeter(channels: format.channels, sampleRate: format.sampleRate) : nil
    state = Mutex(
      State(loudness: loudness, clips: Array(repeating: 0, count: format.channels)))
    channels = format.channels
    var single = format
    single.channels = 1
    layout = single.layout
  }

  /// Greatest sample so far; 1 is full scale.
  var peak: Float { state.withLock { $0.peak } }
  /// Samples of each channel at full scale so far; see `Level.clipping`.
  var clips: [UInt64] { state.withLock { $0.clips } }
  /// All of them.
  var clipCount: UInt64 { clips.reduce(0, +) }
  /// Loudness and true peak for a display; nil if they are not measured.
  var latest: SoundFigures? { state.withLock { $0.loudness?.latest } }
  /// Loudness and true peak of everything; nil if they are not measured.
  var figures: SoundFigures? { state.withLock { $0.loudness?.figures } }

  func note(_ bytes: UnsafeRawBufferPointer, frames: Int) {
    guard let layout, let source = bytes.baseAddress else { return }
    let count = frames * channels
    state.withLock { state in
      if state.memory.count < count { state.memory = [Float](repeating: 0, count: count) }
      unsafe state.memory.withUnsafeMutableBufferPointer { memory in
        guard var plane = memory.baseAddress else { return }
        unsafe layout.copy(
          source, planeFrames: 0, frames: count, gain: ChannelGain(1), to: &plane, at: 0)
        let samples = unsafe UnsafeMutableBufferPointer(rebasing: memory[..<count])
        for index in 0..<count {
          let size = unsafe abs(samples[index])
          state.peak = max(state.peak, size)
          if size >= Level.clipping { state.clips[index % channels] += 1 }
        }
        unsafe state.loudness?.add(samples)
      }
    }
  }

  func noteSilence(frames: Int64) {
    state.withLock { state in
      guard let loudness = state.loudness else { return }
      var silence = [Float](repeating: 0, count: 4096 * channels)
      var left = frames
      while left > 0 {
        let count = Int(min(left, 4096)) * channels
        unsafe silence.withUnsafeMutableBufferPointer {
          unsafe loudness.add(.init(rebasing: $0[..<count]))
        }
        left -= 4096
      }
    }
  }
}

import Analysis
import RealTime
import Sessions
import System

/// The figures of a rendering, for its closing line and the events. One thread.
final class RenderReport {
  private let path: String
  private let channels: Int
  private let sampleRate: Double
  /// Measures what is written; nil without `--loudness`.
  private let meter: LoudnessMeter?
  private var frames: Int64 = 0
  private var greatest: Float = 0
  private var clips: UInt64 = 0
  /// Greatest samples since the last event.
  private var peaks: [Float]
  /// Host time of the next position event in nanoseconds.
  private var nextEvent = HostTime.now + 1_000_000_000

  /// - Parameter measuresLoudness: True for `--loudness`.
  init(_ path: String, channels: Int, sampleRate: Double, measuresLoudness: Bool) {
    self.path = path
    self.channels = channels
    self.sampleRate = sampleRate
    meter =
      measuresLoudness ? LoudnessMeter(channels: channels, sampleRate: sampleRate) : nil
    peaks = Array(repeating: 0, count: channels)
  }

  /// Emits the event of the start.
  func start(_ files: [any SoundSource]) {
    Screen.shared.emit(
      StartedEvent(
        command: "play",
        files: files.map {
          StartedEvent.File(
            file: $0.path, channels: $0.format.channels, sampleRate: $0.format.sampleRate,
            output: path)
        }))
  }

  /// Measures frames that are written, and emits an event once a second.
  func add(_ samples: ArraySlice<Float>) {
    frames += Int64(samples.count / channels)
    if let meter {
      var copy = Array(samples)
      unsafe copy.withUnsafeMutableBufferPointer { unsafe meter.add($0) }
    }
    guard Screen.shared.isJSON else { return }
    for (i, sample) in samples.enumerated() {
      let size = abs(sample)
      if size > peaks[i % channels] { peaks[i % channels] = size }
      if size >= Level.clipping { clips += 1 }
    }
    greatest = max(greatest, peaks.max() ?? 0)
    let now = HostTime.now
    if now < nextEvent { return }
    nextEvent = now + 1_000_000_000
    Screen.shared.emit(
      PositionEvent(files: [
        PositionEvent.File(
          file: path, seconds: Double(frames) / sampleRate, frames: frames, peaks: peaks.levels,
          clips: clips, loudness: (meter?.latest).map(LoudnessReport.init))
      ]))
    peaks = Array(repeating: 0, count: channels)
  }

  /// The closing figures of loudness, with a separator before them; empty without `--loudness`.
  var words: String { meter.map { "; \($0.figures.words)" } ?? "" }

  /// Emits the event of the end.
  func finish(exitCode: Int32) {
    Screen.shared.emit(
      FinishedEvent(
        exitCode: exitCode,
        files: [
          FinishedEvent.File(
            file: path, frames: frames, duration: Double(frames) / sampleRate,
            peak: decibels(Double(greatest)).map(hundredths), clips: clips,
            loudness: (meter?.figures).map(LoudnessReport.init))
        ]))
  }
}

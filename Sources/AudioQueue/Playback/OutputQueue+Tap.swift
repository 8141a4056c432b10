import RealTime
import Server

/// Measuring what a queue plays.
extension OutputQueue {
  /// Number of samples of each channel at full scale, counted in cycles while metering was on. See
  /// `Level.clipping`.
  package var clippedSamples: [UInt64] {
    (0..<format.channels).map { unsafe memory.voice.pointee.clippedSamples(ofChannel: $0) }
  }

  /// Lets the process thread copy the frames of runs for `takeSamples`: with volume, output gain, pan and fades, at
  /// the device's rate, without silence before and after a run. A single channel that plays through two
  /// ports is one channel. Later calls do nothing. Allocates.
  ///
  /// - Parameter frames: Frames that the ring holds at least.
  package func openTap(frames: Int) { memory.openTap(frames: frames) }

  /// Removes the oldest copied frames, and copies them to `buffer`, interleaved. One thread at a time.
  ///
  /// - Returns: Number of frames.
  package func takeSamples(into buffer: UnsafeMutableBufferPointer<Float>) -> Int {
    unsafe memory.readTap(into: buffer)
  }

  /// Frames that were not copied because nobody took the frames before.
  package var droppedSampleFrames: UInt64 { memory.droppedTapFrames }
}

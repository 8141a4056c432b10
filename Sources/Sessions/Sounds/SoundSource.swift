package import Files
package import RealTime
import Timeline

/// Sound that a player reads from any position: a file, or several in a row.
///
/// Any thread. Reads block on the disk.
package protocol SoundSource: Sendable {
  /// The path in messages.
  var path: String { get }
  /// The format of the frames that `read` returns.
  var format: PCMFormat { get }
  /// Frames that can be read.
  var frames: Int64 { get }
  /// One line for each file that is truncated or damaged.
  var warnings: [String] { get }
  /// One line for each file in which sound was found that cannot be decoded.
  var faults: [String] { get }
  /// True if the sound ends where nothing more is read, before `frames`, as that of a pipe does.
  var isOpenEnded: Bool { get }
  /// Ends reads that wait for a pipe. Any thread.
  func stop()
  /// Reads up to `count` frames starting at `frame`, as many as exist and fit.
  ///
  /// - Returns: Number of frames; 0 at the end.
  func read(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int
}

extension SoundSource {
  package var warnings: [String] { [] }
  package var faults: [String] { [] }
  package var isOpenEnded: Bool { false }
  package func stop() {}

  /// Returns the frames between two times in seconds; to the end if the second one is nil.
  package func part(from start: Double, to end: Double?) -> Range<Int64> {
    func frame(_ seconds: Double) -> Int64 {
      min(frames, Int64(held: (seconds * format.sampleRate).rounded()))
    }
    let first = frame(start)
    return first..<max(first, end.map(frame) ?? frames)
  }
}

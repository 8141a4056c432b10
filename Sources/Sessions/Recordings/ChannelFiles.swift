package import Files
package import RealTime
import Synchronization

/// The files of a recording that has one for each channel. Each takes the same frames. One thread at a time; may block.
package final class ChannelFiles: RecordingOutput {
  /// The files of each channel.
  package let channels: [RecordingParts]
  private let bytesPerSample: Int
  /// Held while frames are appended: all channels are split at one frame.
  private let appending = Mutex<Void>(())

  /// - Parameter format: The interleaved format of the recorder.
  package init(_ channels: [RecordingParts], _ format: PCMFormat) {
    self.channels = channels
    bytesPerSample = format.bytesPerFrame / format.channels
  }

  package func append(_ bytes: UnsafeRawBufferPointer, at hostTime: UInt64)
    throws(SoundFileError)
  {
    let bytesPerFrame = bytesPerSample * channels.count
    let frames = bytes.count / bytesPerFrame
    try appending.withLock { _ throws(SoundFileError) in
      for (channel, parts) in channels.enumerated() {
        var samples: [UInt8] = []
        samples.reserveCapacity(frames * bytesPerSample)
        for frame in 0..<frames {
          let start = frame * bytesPerFrame + channel * bytesPerSample
          unsafe samples += bytes[start..<start + bytesPerSample]
        }
        let result = unsafe samples.withUnsafeBytes { samples in
          Result { () throws(SoundFileError) in try unsafe parts.append(samples, at: hostTime) }
        }
        try result.get()
      }
    }
  }

  package func appendSilence(frames: Int64, at hostTime: UInt64) throws(SoundFileError) {
    try appending.withLock { _ throws(SoundFileError) in
      for parts in channels { try parts.appendSilence(frames: frames, at: hostTime) }
    }
  }

  package func split() -> Bool {
    appending.withLock { _ in channels.map { $0.split() }.allSatisfy { $0 } }
  }

  package func checkpoint() throws(SoundFileError) {
    for parts in channels { try parts.checkpoint() }
  }

  package func endTake() throws(SoundFileError) { for parts in channels { try parts.endTake() } }

  /// Completes and closes the current files, at the end of the recording. An error does not keep the others from it.
  package func finish() throws(SoundFileError) {
    var failure: SoundFileError?
    for parts in channels {
      do throws(SoundFileError) { try parts.finish() } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }
}

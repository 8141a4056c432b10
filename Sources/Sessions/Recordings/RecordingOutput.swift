package import Files

/// A destination for the frames of a recorder, in order. One thread at a time; may block.
package protocol RecordingOutput: AnyObject, Sendable {
  /// Appends complete frames in the recorder's format.
  ///
  /// - Parameter hostTime: Host time of the first one in nanoseconds.
  func append(_ bytes: UnsafeRawBufferPointer, at hostTime: UInt64) throws(SoundFileError)
  /// Appends frames of silence.
  func appendSilence(frames: Int64, at hostTime: UInt64) throws(SoundFileError)
  /// Completes the file as it is. Call it several times per second.
  func checkpoint() throws(SoundFileError)
  /// Completes the file of a take. Later frames are another take's.
  func endTake() throws(SoundFileError)
  /// Goes on in another file, with the next frames. Any thread.
  ///
  /// - Returns: False if no file is being written, or if it is a pipe.
  func split() -> Bool
}

import RealTime

/// Sound that a library reads from a file and decodes to linear PCM. One thread at a time.
protocol DecodedSource: AnyObject, Sendable {
  var format: PCMFormat { get }
  /// The sound that could not be decoded so far. Silence is in its place.
  var missing: MissingSound { get }
  /// Reads `count` frames starting at `frame`. Returns their number, which is less at the end.
  func read(_ count: Int, at frame: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int
  /// Returns the number of frames up to the end of the sound, but at most `most`.
  func count(most: Int64) -> Int64
}

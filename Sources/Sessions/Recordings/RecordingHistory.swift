import Files

/// The latest sound of a recording that has not begun yet. One thread at a time.
struct RecordingHistory {
  /// A copy of recorded sound.
  struct Piece {
    let frame: Int64
    let frames: Int64
    /// Nil for silence.
    let bytes: [UInt8]?
    let hostTime: UInt64

    /// Calls `body` with the sound.
    func withSound(_ body: (RecordedSound) throws(SoundFileError) -> Void)
      throws(SoundFileError)
    {
      func sound(_ bytes: UnsafeRawBufferPointer?) -> RecordedSound {
        unsafe RecordedSound(frame: frame, frames: frames, bytes: bytes, hostTime: hostTime)
      }
      guard let bytes else { return try body(sound(nil)) }
      let result = unsafe bytes.withUnsafeBytes { bytes in
        Result { () throws(SoundFileError) in try body(unsafe sound(bytes)) }
      }
      try result.get()
    }
  }
  private var pieces: [Piece] = []

  /// Copies sound that follows what was appended before.
  mutating func append(_ sound: RecordedSound) {
    pieces.append(
      Piece(
        frame: sound.frame, frames: sound.frames,
        bytes: unsafe sound.bytes.map { unsafe Array($0) },
        hostTime: sound.hostTime))
  }

  /// Drops pieces that end before a frame of the run.
  mutating func keep(from first: Int64) {
    let count = pieces.prefix { $0.frame + $0.frames <= first }.count
    pieces.removeFirst(count)
  }

  /// Returns everything, and keeps nothing.
  mutating func takeAll() -> [Piece] {
    defer { pieces = [] }
    return pieces
  }
}

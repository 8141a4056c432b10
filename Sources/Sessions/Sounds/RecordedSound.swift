import Files
import RealTime
import Timeline

/// Consecutive frames of a recording queue's run, in the queue's format.
@safe
struct RecordedSound {
  /// The frame of the run that comes first.
  var frame: Int64
  var frames: Int64
  /// The samples; nil for silence. The memory is the caller's.
  var bytes: UnsafeRawBufferPointer?
  /// Host time of the first frame in nanoseconds.
  var hostTime: UInt64

  /// The frame of the run that follows.
  var end: Int64 { frame + frames }

  /// Returns the part from a frame on; no frames if it ends before.
  func from(_ first: Int64, _ format: PCMFormat) -> RecordedSound {
    guard first > frame else { return self }
    let skipped = min(first - frame, frames)
    var rest = self
    rest.frame += skipped
    rest.frames -= skipped
    if let bytes = unsafe bytes {
      unsafe rest.bytes = UnsafeRawBufferPointer(
        rebasing: bytes[(Int(skipped) * format.bytesPerFrame)...])
    }
    rest.hostTime += UInt64(held: (Double(skipped) / format.sampleRate * 1e9).rounded())
    return rest
  }
}

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

/// The samples of a buffer, as floats for each channel.
struct ChannelSamples {
  private let planes: [[Float]]

  /// Converts a buffer's frames; nil if the format cannot be read.
  init?(_ bytes: UnsafeRawBufferPointer, _ format: PCMFormat) {
    guard let layout = format.layout, let source = bytes.baseAddress else { return nil }
    let frames = bytes.count / format.bytesPerFrame
    let samples = unsafe [Float](
      unsafeUninitializedCapacity: frames * format.channels
    ) { memory, count in
      guard let first = memory.baseAddress else { return }
      unsafe withUnsafeTemporaryAllocation(
        of: UnsafeMutablePointer<Float>.self, capacity: format.channels
      ) { planes in
        for channel in 0..<format.channels {
          unsafe planes.initializeElement(at: channel, to: first + channel * frames)
        }
        guard let planes = planes.baseAddress else { return }
        unsafe layout.copy(
          source, planeFrames: 0, frames: frames, gain: ChannelGain(1), to: planes, at: 0)
      }
      count = frames * format.channels
    }
    planes = (0..<format.channels).map { Array(samples[($0 * frames)..<(($0 + 1) * frames)]) }
  }

  /// The first frame with a sample above a level; nil if there is none. 1 is full scale.
  func firstFrame(above level: Float) -> Int? {
    planes.compactMap { plane in plane.firstIndex { abs($0) > level } }.min()
  }

  /// For each channel, the frame after the last sample other than zero; 0 if all are zero.
  var soundEnds: [Int] { planes.map { plane in (plane.lastIndex { $0 != 0 } ?? -1) + 1 } }
}

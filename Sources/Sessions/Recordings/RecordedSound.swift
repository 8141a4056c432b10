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

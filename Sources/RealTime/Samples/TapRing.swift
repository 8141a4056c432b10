package import CRealTime
import Synchronization

/// A piece of an output's sound in a `TapRing`.
package struct TapRecord: BitwiseCopyable, Equatable, Sendable {
  package let frames: Int
  /// Time of its first frame. A host time of 0 is unknown.
  package let sampleTime: Double
  package let hostTime: UInt64
}

/// Ring of what an output of a unit gives, with the times, for a thread that is not real time.
///
/// The thread that renders is the producer. A full ring drops pieces and counts their frames.
@safe
package struct TapRing: ~Copyable {
  private let records: UnsafeMutablePointer<TapRecordRing>
  private let samples: UnsafeMutablePointer<SampleTap>
  private let signal: UnsafeMutablePointer<cue_signal>
  private let channels: Int
  /// Frames after which the thread is woken.
  private let interval: Int
  private let untold = Atomic<Int>(0)
  private let lost = Atomic<UInt64>(0)

  package init(
    records: UnsafeMutablePointer<TapRecordRing>, samples: UnsafeMutablePointer<SampleTap>,
    signal: UnsafeMutablePointer<cue_signal>, channels: Int, interval: Int
  ) {
    unsafe self.records = records
    unsafe self.samples = samples
    unsafe self.signal = signal
    self.channels = channels
    self.interval = interval
  }

  @_noLocks borrowing func write(
    _ output: UnitBus, frames: Int, at time: UnsafePointer<cue_time_stamp>
  ) {
    if output.channels != channels || frames == 0 { return }
    let hasHost = unsafe time.pointee.flags & UInt32(cue_time_has_host) != 0
    let record = unsafe TapRecord(
      frames: frames, sampleTime: time.pointee.sample_time,
      hostTime: hasHost ? time.pointee.host_time : 0)
    if unsafe records.pointee.room() > 0,
      unsafe samples.pointee.write(output.planes, from: 0, to: frames, isSpread: false)
    {
      _ = unsafe records.pointee.push(record)
    } else {
      lost.add(UInt64(frames), ordering: .relaxed)
    }
    let count = untold.load(ordering: .relaxed) &+ frames
    untold.store(count >= interval ? count % interval : count, ordering: .relaxed)
    if count >= interval { unsafe cue_rt_signal_post(signal) }
  }

  /// Removes the oldest piece and copies its frames to `buffer`, interleaved. Consumer only.
  ///
  /// - Parameter buffer: Room for the longest render.
  package borrowing func read(into buffer: UnsafeMutableBufferPointer<Float>) -> TapRecord? {
    guard let record = unsafe records.pointee.pop() else { return nil }
    let part = unsafe UnsafeMutableBufferPointer(rebasing: buffer[..<(record.frames * channels)])
    _ = unsafe samples.pointee.read(into: part)
    return record
  }

  /// Frames that found the ring full. Any thread.
  package var lostFrames: UInt64 { lost.load(ordering: .relaxed) }

  /// Returns true if there is room for as many frames and as many pieces. Producer only.
  ///
  /// - Parameter capacity: Frames for which the ring was made.
  package borrowing func hasRoom(frames: Int, pieces: Int, of capacity: Int) -> Bool {
    unsafe samples.pointee.waitingFrames + frames <= capacity && records.pointee.room() >= pieces
  }
}

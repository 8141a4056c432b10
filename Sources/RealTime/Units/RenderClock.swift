import CRealTime
import Synchronization
import Timeline

extension cue_time_stamp {
  /// False if it has a sample time that no clock can reach.
  var hasFrameTime: Bool {
    @_noLocks get { flags & UInt32(cue_time_has_sample) == 0 || sample_time.isFrameTime }
  }
}

/// Time of a unit's latest render, published by each render and read by any thread.
package struct RenderClock: ~Copyable {
  /// The bits of the sample time, and the host time in nanoseconds. A sample time of NaN and a host time
  /// of 0 are unknown.
  private let words: Atomic<WordPair>
  private static var unknown: WordPair {
    WordPair(first: UInt(Double.nan.bitPattern), second: 0)
  }

  package init() { words = Atomic(Self.unknown) }

  @_noLocks borrowing func publish(_ time: cue_time_stamp) {
    let hasSample = time.flags & UInt32(cue_time_has_sample) != 0
    let hasHost = time.flags & UInt32(cue_time_has_host) != 0
    words.store(
      WordPair(
        first: UInt((hasSample ? time.sample_time : .nan).bitPattern),
        second: hasHost ? UInt(time.host_time) : 0), ordering: .relaxed)
  }

  func clear() { words.store(Self.unknown, ordering: .relaxed) }

  /// The latest time; nil if there is none.
  var reading: (sampleTime: Double?, hostTime: UInt64?)? {
    let words = words.load(ordering: .relaxed)
    let sampleTime = Double(bitPattern: UInt64(words.first))
    if sampleTime.isNaN && words.second == 0 { return nil }
    return (sampleTime.isNaN ? nil : sampleTime, words.second == 0 ? nil : UInt64(words.second))
  }
}

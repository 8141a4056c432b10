import CRealTime
import Synchronization

/// Transport state of the latest cycle, published by each cycle and read by any thread.
///
/// A sequence lock, as in `CycleClock`.
struct TransportClock: ~Copyable {
  private let sequence = Atomic<UInt64>(0)
  private let frame = Atomic<Int64>(0)
  private let position = Atomic<Int64>(0)
  /// 0 before the first cycle; 1 stopped, 2 starting, 3 rolling.
  private let state = Atomic<Int>(0)
  private let since = Atomic<Int64>(0)
  private let beatsPerMinute = Atomic<UInt64>(0)
  private let beat = Atomic<UInt64>(0)
  private let beatSlack = Atomic<UInt64>(0)

  /// Publishes the state of the cycle that begins at device frame `frame`. Process thread.
  ///
  /// - Returns: True if the transport starts, stops or begins to wait with this cycle.
  @_noLocks borrowing func publish(_ transport: cue_transport, at frame: Int64) -> Bool {
    let state = transport.is_rolling ? 3 : transport.is_starting ? 2 : 1
    let isNew = self.state.load(ordering: .relaxed) != state
    let next = sequence.load(ordering: .relaxed) &+ 1
    sequence.store(next, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    self.frame.store(frame, ordering: .relaxed)
    position.store(transport.frame, ordering: .relaxed)
    self.state.store(state, ordering: .relaxed)
    if isNew { since.store(frame, ordering: .relaxed) }
    let hasBeats = transport.has_beats
    let beats = Double(transport.bar) * Double(transport.beats_per_bar) + transport.bar_beat
    beatsPerMinute.store(
      hasBeats ? transport.beats_per_minute.bitPattern : 0, ordering: .relaxed)
    beat.store(beats.bitPattern, ordering: .relaxed)
    beatSlack.store(transport.beat_slack.bitPattern, ordering: .relaxed)
    sequence.store(next &+ 1, ordering: .releasing)
    return isNew
  }

  /// Forgets the state. Precondition: no cycle is running.
  borrowing func clear() { state.store(0, ordering: .releasing) }

  /// Returns the latest state; nil before the first cycle. Any thread.
  borrowing func read() -> TransportReading? {
    while true {
      let before = sequence.load(ordering: .acquiring)
      let state = self.state.load(ordering: .relaxed)
      let tempo = Double(bitPattern: beatsPerMinute.load(ordering: .relaxed))
      let reading = TransportReading(
        frame: frame.load(ordering: .relaxed), position: position.load(ordering: .relaxed),
        isRolling: state == 3, isStarting: state == 2, since: since.load(ordering: .relaxed),
        beats: tempo > 0
          ? TransportReading.Beats(
            perMinute: tempo, position: Double(bitPattern: beat.load(ordering: .relaxed)),
            slack: Double(bitPattern: beatSlack.load(ordering: .relaxed))) : nil)
      atomicMemoryFence(ordering: .acquiring)
      if before & 1 == 0 && sequence.load(ordering: .relaxed) == before {
        return state == 0 ? nil : reading
      }
    }
  }
}

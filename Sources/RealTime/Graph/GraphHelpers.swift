package import CRealTime
import Synchronization

/// The threads that help the process thread of a graph, and the groups that they share.
///
/// The process thread publishes the groups of a block. Each thread claims one group after the other, in
/// the running order, and waits for those that the group depends on: they have been claimed before. Only
/// a thread that has claimed a group touches the order, and the block does not end before that group
/// has. So a helper that wakes late finds nothing to claim, and never an order that is gone.
@safe
package struct GraphHelpers: ~Copyable {
  /// Number of threads beside the process thread.
  let count: Int
  /// A signal for each helper.
  private let signals: UnsafeMutablePointer<cue_signal>
  /// A flag for each thread, the process thread's first: nodes set it to ask for attention.
  let attentions: UnsafeMutablePointer<Bool>
  private let job: UnsafeMutablePointer<GraphJob?>
  /// Process thread only.
  let pace: UnsafeMutablePointer<GraphPace>
  /// The next group to claim, and in the upper half their number.
  private let claims = Atomic<UInt64>(0)
  /// Nanoseconds that all threads have worked on groups of this block.
  private let work = Atomic<UInt64>(0)

  /// Creates the state of helpers in memory that the caller owns: see the properties.
  package init(
    count: Int, signals: UnsafeMutablePointer<cue_signal>, attentions: UnsafeMutablePointer<Bool>,
    job: UnsafeMutablePointer<GraphJob?>, pace: UnsafeMutablePointer<GraphPace>
  ) {
    self.count = count
    unsafe self.signals = signals
    unsafe self.attentions = attentions
    unsafe self.job = job
    unsafe self.pace = pace
  }

  /// Publishes the groups of a block and wakes the helpers. Process thread.
  @_noLocks borrowing func publish(_ job: GraphJob, _ groups: borrowing GraphGroups) {
    for i in 0..<groups.count {
      let count = unsafe groups.groups[i].sourceCount
      unsafe groups.groups[i].missing.store(count, ordering: .relaxed)
    }
    groups.finished.store(0, ordering: .relaxed)
    work.store(0, ordering: .relaxed)
    unsafe self.job.pointee = job
    claims.store(UInt64(groups.count) << 32, ordering: .releasing)
    for i in 0..<count { unsafe cue_rt_signal_post(signals + i) }
  }

  /// Claims the next group.
  ///
  /// - Returns: Its index and its block; nil if all are claimed.
  @_noLocks borrowing func claim() -> (index: Int, job: GraphJob)? {
    var seen = claims.load(ordering: .acquiring)
    while seen & 0xffff_ffff < seen >> 32 {
      let (exchanged, original) = claims.weakCompareExchange(
        expected: seen, desired: seen &+ 1, ordering: .acquiringAndReleasing)
      if exchanged, let job = unsafe job.pointee {
        return (Int(seen & 0xffff_ffff), job)
      }
      seen = original
    }
    return nil
  }

  /// Counts time that a thread has worked on a group.
  @_noLocks borrowing func count(_ nanoseconds: UInt64) {
    work.add(nanoseconds, ordering: .relaxed)
  }
  /// Nanoseconds of all threads in the block that is over.
  @_noLocks borrowing func workDone() -> UInt64 { work.load(ordering: .relaxed) }

  /// Returns and clears whether a node has asked for attention in the block that is over.
  @_noLocks borrowing func takeAttention() -> Bool {
    var asks = false
    for i in 0...count where unsafe attentions[i] {
      unsafe attentions[i] = false
      asks = true
    }
    return asks
  }
}

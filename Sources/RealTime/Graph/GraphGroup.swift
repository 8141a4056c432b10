package import CRealTime
import Synchronization

/// Steps of a running order that run after each other on one thread. Groups that do not depend on each
/// other may run on several.
///
/// Has a fixed address. The creator owns the memory.
@safe
package struct GraphGroup: ~Copyable {
  /// The steps, as indices of the order: from the first to the one before `end`.
  let first: Int
  let end: Int
  /// Number of groups whose output this one reads.
  let sourceCount: Int
  /// Indices of the groups that read this one's output.
  let readers: UnsafeMutablePointer<Int>
  let readerCount: Int
  /// Groups of `sourceCount` that have not been run in this block.
  let missing = Atomic<Int>(0)

  package init(
    steps: Range<Int>, sourceCount: Int, readers: UnsafeMutablePointer<Int>, readerCount: Int
  ) {
    first = steps.lowerBound
    end = steps.upperBound
    self.sourceCount = sourceCount
    unsafe self.readers = readers
    self.readerCount = readerCount
  }
}

/// The groups of a running order, and how far a block has come with them. The creator owns the memory.
@safe
package struct GraphGroups: ~Copyable {
  let groups: UnsafeMutablePointer<GraphGroup>
  let count: Int
  /// Memory of `blockFrames` samples for each thread, `scratchStride` samples apart.
  let scratch: UnsafeMutablePointer<Float>
  let scratchStride: Int
  /// Groups that have been run in this block.
  let finished = Atomic<Int>(0)

  package init(
    _ groups: UnsafeMutablePointer<GraphGroup>, count: Int,
    scratch: UnsafeMutablePointer<Float>, scratchStride: Int
  ) {
    unsafe self.groups = groups
    self.count = count
    unsafe self.scratch = scratch
    self.scratchStride = scratchStride
  }
}

/// A block whose groups can be claimed.
@safe
package struct GraphJob: BitwiseCopyable {
  let order: UnsafeMutablePointer<GraphOrder>
  let block: cue_block
  let first: Int
  let cycle: Int
}

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

/// Decides whether the blocks of a graph are worth several threads: waking a thread and waiting for it takes
/// as long as a small graph. Process thread only.
@safe
package struct GraphPace: BitwiseCopyable {
  /// Nanoseconds of work in a block from which helpers are tried. With 0 they always help.
  private let leastWork: Double
  private(set) var usesHelpers: Bool
  /// Means over about 16 blocks, in nanoseconds: a block on one thread; a block with helpers; the work of all
  /// threads in one.
  private var alone = 0.0
  private var shared = 0.0
  private var work = 0.0
  /// Blocks since `usesHelpers` changed.
  private var blocks = 0
  /// Blocks before the helpers are tried again, and after the next try that fails.
  private var wait = 0
  private var nextWait = 1024
  /// A try that fails again and again is made after this many blocks: two minutes of 128 frames at 48 kHz.
  private static var longestWait: Int { @_noLocks get { 1 << 16 } }

  package init(leastWork: Double) {
    self.leastWork = leastWork
    usesHelpers = leastWork == 0
  }

  /// Takes the time of a block that the process thread has run alone.
  @_noLocks mutating func ranAlone(_ nanoseconds: UInt64) {
    alone = mean(alone, Double(nanoseconds))
    blocks &+= 1
    if blocks >= 16, blocks > wait, alone >= leastWork { change(to: true) }
  }

  /// Takes the time of a block that helpers have shared, and the sum of what each thread has worked.
  @_noLocks mutating func ranShared(_ nanoseconds: UInt64, work: UInt64) {
    shared = mean(shared, Double(nanoseconds))
    self.work = mean(self.work, Double(work))
    blocks &+= 1
    if leastWork == 0 || blocks < 64 { return }
    // Two threads of one core make each other's work longer. So a try is compared with the time before it.
    let isTry = blocks < 128
    let rival = isTry ? min(alone, self.work) : self.work
    if shared > 0.9 * rival {
      wait = nextWait
      nextWait = min(2 &* nextWait, Self.longestWait)
      change(to: false)
    } else if self.work < 0.75 * leastWork {
      wait = 0
      change(to: false)
    } else if !isTry {
      nextWait = 1024
    }
  }

  @_noLocks private mutating func change(to usesHelpers: Bool) {
    self.usesHelpers = usesHelpers
    blocks = 0
  }

  @_noLocks private func mean(_ old: Double, _ new: Double) -> Double {
    blocks == 0 ? new : old + (new - old) / 16
  }
}

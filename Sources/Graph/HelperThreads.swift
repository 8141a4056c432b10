import CRealTime
import Glibc
import Logging
import RealTime
import Synchronization
import System

/// The threads that help the process thread of a graph. They start with the object and stop with `end()`.
@safe
final class HelperThreads: @unchecked Sendable {
  let helpers: UnsafeMutablePointer<GraphHelpers>
  private let signals: UnsafeMutablePointer<cue_signal>
  private let count: Int
  private let pages: [ArenaPage]
  private let isEnding = Atomic<Bool>(false)
  private let running: Atomic<Int>

  /// Precondition: `threads.count` is greater than 1.
  init(_ threads: GraphThreads) {
    count = threads.count - 1
    running = Atomic(count)
    var pages: [ArenaPage] = []
    unsafe helpers = Arena.small.allocate(1, of: GraphHelpers.self, keptBy: &pages)
    unsafe signals = Arena.small.allocate(count, of: cue_signal.self, keptBy: &pages)
    let attentions = unsafe Arena.small.allocate(count + 1, of: Bool.self, keptBy: &pages)
    let job = unsafe Arena.small.allocate(1, of: GraphJob?.self, keptBy: &pages)
    let pace = unsafe Arena.small.allocate(1, of: GraphPace.self, keptBy: &pages)
    self.pages = pages
    for i in 0..<count { unsafe cue_signal_initialize(signals + i) }
    unsafe job.initialize(to: nil)
    unsafe pace.initialize(to: GraphPace(leastWork: threads.leastWork * 1e9))
    unsafe helpers.initialize(
      to: GraphHelpers(
        count: count, signals: signals, attentions: attentions, job: job, pace: pace))
  }

  deinit {
    for i in 0..<count { unsafe cue_signal_destroy(signals + i) }
    unsafe helpers.deinitialize(count: 1)
  }

  /// Starts the threads. `cycle` stays valid until `end()` has returned true.
  func start(_ cycle: UnsafeMutablePointer<GraphCycle>, priority: Int?) {
    nonisolated(unsafe) let cycle = unsafe cycle
    for i in 0..<count {
      startThread(named: "graph-\(i + 2)") { [self] in
        cue_rt_flush_denormals()
        if let priority, !runInRealTime(priority: priority) {
          log.warning("a thread for plugins has no real-time priority, and does not run")
        } else {
          while true {
            unsafe cue_signal_wait(signals + i)
            if isEnding.load(ordering: .acquiring) { break }
            unsafe cycle.pointee.help(thread: i + 1)
          }
        }
        running.subtract(1, ordering: .releasing)
      }
    }
  }

  /// Ends the threads. Precondition: no cycle runs.
  ///
  /// - Returns: False if one of them does not end, in a node that hangs.
  func end() -> Bool {
    isEnding.store(true, ordering: .releasing)
    for i in 0..<count { unsafe cue_rt_signal_post(signals + i) }
    let deadline = HostTime.now + 5_000_000_000
    while running.load(ordering: .acquiring) > 0 {
      if HostTime.now > deadline { return false }
      usleep(50)
    }
    return true
  }
}

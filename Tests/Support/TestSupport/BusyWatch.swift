import CTestSupport
import Dispatch
import Foundation
import Synchronization

/// Threads that sleep for a millisecond at a time, one on each processor, and count how often one was woken
/// late: as often a processor was too busy for a program without real-time priority. Any thread.
package final class BusyWatch: Sendable {
  private let late = Atomic<Int>(0)
  private let isOver = Atomic<Bool>(false)

  /// - Parameter patience: Seconds by which a wake may be late.
  package init(patience: Double) {
    for processor in 0..<ProcessInfo.processInfo.processorCount {
      Thread.detachNewThread { [self] in
        cue_run_on_processor(Int32(processor))
        while !isOver.load(ordering: .relaxed) {
          let before = DispatchTime.now().uptimeNanoseconds
          usleep(1000)
          let seconds = Double(DispatchTime.now().uptimeNanoseconds - before) / 1e9
          if seconds > 0.001 + patience { late.add(1, ordering: .relaxed) }
        }
      }
    }
  }

  package var lateWakes: Int { late.load(ordering: .relaxed) }
  package func end() { isOver.store(true, ordering: .relaxed) }
}

/// Calls `body`, which returns how a recording is wrong, or nil. Calls it again if it is wrong and a
/// processor was too busy meanwhile: no program plays on while its threads do not run. Each of the up
/// to eight further calls comes after a longer pause.
///
/// - Parameter patience: Seconds by which a thread may be late.
/// - Returns: The words of the last call of `body`; nil if its recording was right.
package func unlessBusy(patience: Double, _ body: () throws -> String?) rethrows -> String? {
  let watch = BusyWatch(patience: patience)
  defer { watch.end() }
  for attempt in 1...8 {
    let before = watch.lateWakes
    guard let wrong = try body() else { return nil }
    guard watch.lateWakes > before else { return wrong }
    print("again, because a processor was too busy: \(wrong)")
    sleep(UInt32(attempt))
  }
  return try body()
}

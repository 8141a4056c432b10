import Foundation

/// Runs a body with as much stack as JACK's process thread has, as a part of the test that calls this.
package func onSmallStack<R>(_ body: () throws -> R) async throws -> R {
  try await withTaskExecutorPreference(SmallStackExecutor()) { try body() }
}

/// Runs each job on a thread of its own with a stack of 512 kB.
private final class SmallStackExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let thread = Thread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    thread.stackSize = 512 << 10
    thread.start()
  }
}

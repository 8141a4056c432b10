import Foundation
import Synchronization
import System
import TestSupport
import Testing

/// jack_client_close cancels the thread on which JACK's library reports changes.
@Suite struct CancellationTests {
  private final class Steps: Sendable {
    let begun = Atomic<Bool>(false)
    let done = Atomic<Bool>(false)
  }

  @Test func aReportIsFinishedBeforeItsThreadIsCancelled() {
    let steps = Steps()
    let argument = Unmanaged.passUnretained(steps).toOpaque()
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { argument in
        // As JACK's library sets its threads.
        pthread_setcanceltype(CInt(PTHREAD_CANCEL_ASYNCHRONOUS), nil)
        withoutCancellation {
          let steps = Unmanaged<Steps>.fromOpaque(argument!).takeUnretainedValue()
          steps.begun.store(true, ordering: .releasing)
          usleep(100_000)
          steps.done.store(true, ordering: .releasing)
        }
        // The thread ends here.
        while true { sleep(1) }
      }, argument)
    expectEqual(status, 0)
    while !steps.begun.load(ordering: .acquiring) { usleep(100) }
    pthread_cancel(thread)
    pthread_join(thread, nil)
    let isDone = steps.done.load(ordering: .acquiring)
    expectTrue(isDone)
  }
}
